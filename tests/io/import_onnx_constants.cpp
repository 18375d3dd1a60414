// link: protozero
// tenon-import: constants that the file computes. Wanted values are those of ONNX Runtime 1.32.
#include <doctest/doctest.h>

#include "../support/onnx_nodes.hpp"

using namespace support;

TEST_CASE("constants that the file computes are stretched to each other") {
  CHECK(constant({node("Sub", {"/a", "/b"}, "c")}, {reals("/a", {2, 1}, {1, 2}), reals("/b", {1, 4}, {1, 2, 3, 4})}) ==
        "[2][4] 0 -1 -2 -3 1 0 -1 -2");
  CHECK(constant({node("Mul", {"/a", "/b"}, "c")}, {wholes("/a", {2, 1}, {1, 2}), wholes("/b", {4}, {1, 2, 3, 4})},
                 7) == "[2][4] 1 2 3 4 2 4 6 8");
  CHECK(constant({node("Where", {"m", "/a", "/b"}, "c")},
                 {tensor("m", 9, {2, 1}, std::vector<std::uint8_t>{1, 0}), wholes("/a", {}, {7}),
                  wholes("/b", {4}, {1, 2, 3, 4})},
                 7) == "[2][4] 7 7 7 7 1 2 3 4");
  CHECK(constant({node("Reshape", {"/a", "s"}, "b"), node("Sqrt", {"b"}, "c")},
                 {reals("/a", {2}, {4, 9}), wholes("s", {2}, {2, 1})}) == "[2][1] 2 3");
  CHECK(constant({node("Unsqueeze", {"/a", "s"}, "b"), node("Squeeze", {"b", "s"}, "d"), node("Neg", {"d"}, "c")},
                 {wholes("/a", {2, 1}, {4, 9}), wholes("s", {1}, {0})}, 7) == "[2][1] -4 -9");
}
TEST_CASE("a weight stays one that is trained") {
  CHECK(constant({node("Identity", {"w"}, "c")}, {reals("w", {4}, {1, 2, 3, 4})}) == "[4] 1 2 3 4 trained");
  CHECK(constant({node("Mul", {"w", "s"}, "c")}, {reals("w", {4}, {1, 2, 3, 4}), reals("s", {}, {2})}) ==
        "[4] 1 2 3 4 trained");
}
TEST_CASE("casts of constants keep what fits, and bool is 0 or 1") {
  const auto cast = [](int to, ReadTensor t) {
    return constant({node("Cast", {t.name}, "b", {whole("to", {to})}), node("Cast", {"b"}, "c", {whole("to", {7})})},
                    {t}, 7);
  };
  CHECK(cast(9, wholes("/a", {4}, {0, 5, -1, 1})) == "[4] 0 1 1 1");
  CHECK(cast(3, wholes("/a", {4}, {127, 128, -129, 300})) == "[4] 127 -128 127 44");
  CHECK(cast(2, wholes("/a", {4}, {255, 256, -1, 3})) == "[4] 255 0 255 3");
  CHECK(cast(6, wholes("/a", {4}, {1l << 31, 1l << 32, -1, 3})) == "[4] -2147483648 0 -1 3");
  CHECK(cast(9, reals("/a", {4}, {0, 0.5f, -2, -0.0f})) == "[4] 0 1 1 0");
  CHECK(cast(7, reals("/a", {4}, {1.9f, -1.9f, 0, 7})) == "[4] 1 -1 0 7");
}
TEST_CASE("whole numbers that stop programs, and rests") {
  const auto of = [](const std::string& operation, std::vector<std::int64_t> a, std::int64_t b, long fmod = 0) {
    return constant({node(operation, {"/a", "b"}, "c", {whole("fmod", {fmod})})},
                    {wholes("/a", {4}, std::move(a)), wholes("b", {}, {b})}, 7);
  };
  CHECK(of("Mod", {5, -5, 6, 0}, 3) == "[4] 2 1 0 0");
  CHECK(of("Mod", {5, -5, 6, 0}, 3, 1) == "[4] 2 -2 0 0");
  CHECK(of("Mod", {5, -5, 6, 0}, -3) == "[4] -1 -2 0 0");
  CHECK(of("Mod", {least, 1, 2, 3}, -1) == "x * 0");
  CHECK(of("Div", {7, -7, 6, 0}, -2) == "[4] -3 3 -3 0");
  CHECK(of("Div", {7, -7, 6, 0}, 0).find("a quotient of whole numbers is not in scope") != std::string::npos);
  CHECK(of("Div", {least, 1, 2, 3}, -1) == "[4] -9223372036854775808 -1 -2 -3");
  CHECK(constant({node("Neg", {"b"}, "c")}, {wholes("b", {}, {least})}, 7) ==
        "x * std::numeric_limits<std::int64_t>::min()");
}
TEST_CASE("numbers in code keep their sign and their bits") {
  const auto times = [](ReadTensor t, int type) {
    return result(model({node("Add", {"x", "c"}, "y")}, {std::move(t)}, {-1, 4}, type));
  };
  CHECK(times(reals("c", {}, {-0.0f}), 1) == "x + -0.0f");
  CHECK(times(reals("c", {}, {0.0f}), 1) == "x + 0");
  CHECK(times(tensor("c", 11, {}, std::vector{0.1}), 11) == "x + 0.1");
  CHECK(times(wholes("c", {}, {(1l << 60) + 1}), 7) == "x + 1152921504606846977");
}
TEST_CASE("what depends on the size of the batch is not decided") {
  const auto equal = [](std::int64_t to) {
    return result(model({node("Shape", {"x"}, "s", {whole("end", {1})}), node("Equal", {"s", "a"}, "e"),
                         node("Where", {"e", "p", "q"}, "b"), node("Reshape", {"x", "b"}, "y")},
                        {wholes("a", {1}, {to}), wholes("p", {1}, {7}), wholes("q", {1}, {-1})}));
  };
  CHECK(equal(-1) == "reshape<Shape<4 * dyn>>(x)");  // never
  CHECK(equal(5).find("it reads extents of a dynamic axis as numbers: state one size") != std::string::npos);
}
TEST_CASE("margins as PyTorch's older exporter computes them") {
  // F.pad(x, (1, 2, 3, 0)): (1, 2, 3, 0, 0, 0) as pairs, the last axis first, turned around and transposed
  const std::vector nodes{node("ConstantOfShape", {"count"}, "zeros"),
                          node("Cast", {"zeros"}, "whole", {whole("to", {7})}),
                          node("Concat", {"p", "whole"}, "all", {whole("axis", {0})}),
                          node("Reshape", {"all", "two"}, "pairs"),
                          node("Slice", {"pairs", "last", "least", "first", "last"}, "turned"),
                          node("Transpose", {"turned"}, "columns", {whole("perm", {1, 0})}),
                          node("Reshape", {"columns", "last"}, "flat"),
                          node("Cast", {"flat"}, "pads", {whole("to", {7})}),
                          node("Pad", {"x", "pads"}, "y")};
  CHECK(result(model(nodes,
                     {wholes("count", {1}, {2}), wholes("p", {4}, {1, 2, 3, 0}), wholes("two", {2}, {-1, 2}),
                      wholes("last", {1}, {-1}), wholes("least", {1}, {least + 1}), wholes("first", {1}, {0})},
                     {-1, 2, 4})) == "pad<Margin{}, Margin{3, 0}, Margin{1, 2}>(x)");
  CHECK(constant({node("Slice", {"/a", "b", "e", "", "s"}, "c")},
                 {wholes("/a", {3, 2}, {1, 2, 3, 4, 5, 6}), wholes("b", {2}, {2, 1}), wholes("e", {2}, {least, 0}),
                  wholes("s", {2}, {-2, -1})},
                 7) == "[2][1] 6 2");
}
TEST_CASE("the first of a constant table whose number is a dynamic axis") {
  ReadModel m =
      model({node("Shape", {"x"}, "s"), node("Gather", {"s", "one"}, "steps", {whole("axis", {0})}),
             node("Slice", {"/table", "zero", "steps", "one"}, "t"), node("Add", {"x", "t"}, "y")},
            {wholes("/table", {1, 8}, {8, 3, 5, 7, 1, 2, 9, 4}), wholes("one", {1}, {1}), wholes("zero", {1}, {0})},
            {-1, -1}, 7);
  m.inputs[0].names = {"n", "seq"};
  const importer::Imported made = importer::import_model(m, "net", "", {{{"seq", {4, 8}}}});
  REQUIRE(made.problems.empty());
  CHECK(made.header.find("x + slice<1, Part{0, seq}>(value_in(x, table))") != std::string::npos);
}
TEST_CASE("a part of a weight stays one that is trained") {
  const auto part = [](const std::string& name) {
    return constant(
        {node("Slice", {name, "b", "e"}, "c")},
        {reals(name, {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), wholes("b", {1}, {1}), wholes("e", {1}, {2})});
  };
  CHECK(part("w") == "[1][4] 5 6 7 8 trained");
  CHECK(part("/w") == "[1][4] 5 6 7 8");
  CHECK(constant({node("Slice", {"w", "b", "e"}, "a"), node("Slice", {"a", "b", "e"}, "c")},  // all of it
                 {reals("w", {4}, {1, 2, 3, 4}), wholes("b", {1}, {0}), wholes("e", {1}, {9})}) ==
        "[4] 1 2 3 4 trained");
  CHECK(result(model({node("LogSoftmax", {"w"}, "c"), node("Add", {"x", "c"}, "y")},
                     {reals("w", {4}, {1, 2, 3, 4})})) == "x + log_softmax(value_in(x, w))");
}
TEST_CASE("parts of a constant, also of one of which each sample has the same") {
  ReadNode split = node("Split", {"/a", "lengths"}, "b", {whole("axis", {-1})});
  split.outputs = {"b", "c"};
  const std::vector<ReadTensor> tensors{wholes("/a", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), wholes("lengths", {2}, {3, 1})};
  CHECK(constant({split}, tensors, 7) == "[2][1] 4 8");
  split.inputs[0] = "d";
  const std::vector<ReadNode> nodes{node("Shape", {"x"}, "s", {whole("end", {1})}),
                                    node("Concat", {"s", "two", "four"}, "t", {whole("axis", {0})}),
                                    node("Expand", {"/a", "t"}, "d"), split};
  std::vector<ReadTensor> more = tensors;
  more.push_back(wholes("two", {1}, {2})), more.push_back(wholes("four", {1}, {4}));
  CHECK(constant(nodes, more, 7) == "[1][2][1] 4 8");
}
TEST_CASE("means, powers of whole numbers, and limits of constants") {
  CHECK(constant({node("Mean", {"/a", "/b"}, "c")}, {reals("/a", {4}, {1, 2, 4, 6}), reals("/b", {}, {4})}) ==
        "[4] 2.5 3 4 5");
  CHECK(constant({node("Pow", {"/a", "/b"}, "c")},
                 {wholes("/a", {4}, {3, -2, -1, 5}), wholes("/b", {4}, {4, 3, -3, -1})}, 7) == "[4] 81 -8 -1 0");
  CHECK(constant({node("Pow", {"/a", "/b"}, "c")}, {reals("/a", {4}, {3, -2, 0.5f, 5}), wholes("/b", {}, {2})}) ==
        "[4] 9 4 0.25 25");
  CHECK(constant({node("Pow", {"/a", "/b"}, "c")}, {wholes("/a", {4}, {4, 9, 2, 1}), reals("/b", {}, {0.5f})}, 7) ==
        "[4] 2 3 1 1");
  CHECK(constant({node("Neg", {"/a"}, "b"), node("Add", {"b", "/z"}, "c")},
                 {reals("/a", {}, {0}), reals("/z", {}, {-0.0f})}) == "x * -0.0f");
}
TEST_CASE("numbers of samples behind those of a table are no constant") {
  const ReadModel m =
      model({node("Shape", {"x"}, "s", {whole("end", {1})}), node("Squeeze", {"s"}, "n"),
             node("Range", {"zero", "n", "one"}, "r"), node("Concat", {"/a", "r"}, "c", {whole("axis", {0})}),
             node("Gather", {"c", "one"}, "d"), node("Add", {"x", "d"}, "y")},
            {wholes("/a", {2}, {7, 8}), wholes("zero", {}, {0}), wholes("one", {}, {1})}, {-1, 4}, 7);
  CHECK(result(m).find("it joins along a dynamic axis") != std::string::npos);
}
