// link: protozero
// tenon-import: what becomes of single nodes, and of constants that the file computes. Wanted values are those of
// ONNX Runtime 1.32.
#include <doctest/doctest.h>

#include <limits>

#include "../../examples/tools/import/import.hpp"

using namespace tenon;

namespace {
using onnx::ReadAttribute, onnx::ReadNode, onnx::ReadTensor, onnx::ReadModel;

template <class T>
ReadTensor tensor(const std::string& name, int type, std::vector<std::int64_t> extents, std::vector<T> elements) {
  return {
      name, type, std::move(extents), {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)}};
}
ReadTensor reals(const std::string& name, std::vector<std::int64_t> extents, std::vector<float> elements) {
  return tensor(name, 1, std::move(extents), std::move(elements));
}
ReadTensor wholes(const std::string& name, std::vector<std::int64_t> extents, std::vector<std::int64_t> elements) {
  return tensor(name, 7, std::move(extents), std::move(elements));
}
ReadAttribute whole(const std::string& name, std::vector<std::int64_t> values) {
  ReadAttribute a;
  a.name = name, a.whole = std::move(values);
  return a;
}
ReadNode node(const std::string& operation, std::vector<std::string> inputs, const std::string& output,
              std::vector<ReadAttribute> attributes = {}) {
  ReadNode n;
  n.name = output, n.operation = operation, n.inputs = std::move(inputs), n.outputs = {output};
  n.attributes = std::move(attributes);
  return n;
}
/// A model of x, [n, 4] or another shape, whose result is y.
ReadModel model(std::vector<ReadNode> nodes, std::vector<ReadTensor> tensors, std::vector<std::int64_t> x = {-1, 4},
                int type = 1) {
  ReadModel m;
  m.opset = 17;
  m.nodes = std::move(nodes), m.initializers = std::move(tensors);
  m.inputs = {{"x", type, x, std::vector<std::string>(x.size())}};
  m.outputs = {{"y", type, {}, {}}};
  return m;
}
importer::Imported imported(const ReadModel& m) { return importer::import_model(m, "net", "", {}); }
/// What construct returns, or the sentence why not.
std::string result(const ReadModel& m) {
  const importer::Imported made = imported(m);
  if (!made.problems.empty()) return made.problems[0];
  const std::size_t at = made.header.find("return ");
  return made.header.substr(at + 7, made.header.find(';', at) - at - 7);
}
/// What x is multiplied with: the constant c that these nodes compute.
std::string constant(std::vector<ReadNode> nodes, std::vector<ReadTensor> tensors, int type = 1) {
  nodes.push_back(node("Mul", {"x", "c"}, "y"));
  const importer::Imported made = imported(model(std::move(nodes), std::move(tensors), {-1, 2, 4}, type));
  if (!made.problems.empty()) return made.problems[0];
  if (made.weights.empty()) {
    const std::size_t at = made.header.find("return ");
    return made.header.substr(at + 7, made.header.find(';', at) - at - 7);
  }
  std::string all;
  for (const std::int64_t extent : made.weights.at(0).tensor.extents) all += "[" + std::to_string(extent) + "]";
  for (const double each : importer::elements_of(made.weights[0].tensor)) all += " " + text(each);
  return all + (made.weights[0].is_trained ? " trained" : "");
}
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
}  // namespace

TEST_CASE("Max and Min of any number of inputs") {
  const auto limits = [] { return std::vector{reals("a", {}, {1}), reals("b", {}, {2.5f})}; };
  CHECK(result(model({node("Max", {"x", "a", "b"}, "y")}, limits())) == "maximum(maximum(x, 1), 2.5f)");
  CHECK(result(model({node("Min", {"a", "x", "x", "b"}, "y")}, limits())) ==
        "minimum(minimum(minimum(1, x), x), 2.5f)");
  CHECK(result(model({node("Max", {"x"}, "z"), node("Neg", {"z"}, "y")}, {})) == "neg(x)");
  CHECK(constant({node("Max", {"a", "b", "d"}, "c")},
                 {reals("a", {}, {1}), reals("b", {}, {3}), reals("d", {}, {2})}) == "x * 3");
}

TEST_CASE("Clip whose least value is above its largest one gives the largest") {
  const auto limits = [](float low, float high) { return std::vector{reals("a", {}, {low}), reals("b", {}, {high})}; };
  const auto clip = [] { return std::vector{node("Clip", {"x", "a", "b"}, "y")}; };
  CHECK(result(model(clip(), limits(1, -1))) == "minimum(maximum(x, 1.0f), -1.0f)");
  CHECK(result(model(clip(), limits(-1, 1))) == "clip_by_value(x, -1.0f, 1.0f)");
  CHECK(result(model({node("Clip", {"x", "", "b"}, "y")}, limits(0, -2))) == "minimum(x, -2.0f)");
  CHECK(result(model(clip(), {wholes("a", {}, {0}), wholes("b", {}, {6})}, {-1, 4}, 7)) == "clip_by_value(x, 0, 6)");
}

TEST_CASE("ConvTranspose with output_shape") {
  const auto transposed = [](std::vector<ReadAttribute> attributes) {
    const importer::Imported made = imported(model({node("ConvTranspose", {"x", "w"}, "y", std::move(attributes))},
                                                   {reals("w", {1, 1, 3, 3}, std::vector<float>(9))}, {-1, 1, 3, 3}));
    if (!made.problems.empty()) return made.problems[0];
    const std::size_t at = made.header.find(".padding"), shape = made.header.find(" -> ");
    return made.header.substr(at, made.header.find('}', at) - at) +
           made.header.substr(shape, made.header.find(']', shape) + 1 - shape);
  };
  // 7 rows and columns without padding, of which the first is cut off
  CHECK(transposed({whole("strides", {2, 2}), whole("output_shape", {6, 6})}) ==
        ".padding = Padding(1, 0, 1, 0) -> [n, 1, 6, 6]");
  CHECK(transposed({whole("strides", {2, 2}), whole("output_shape", {8, 8})}).find("larger than what its windows") !=
        std::string::npos);
  CHECK(transposed({whole("strides", {2, 2}), whole("output_shape", {least, 6})}).find("output_shape") !=
        std::string::npos);
}

TEST_CASE("Gemm with one number as its bias") {
  const auto bias = [](ReadTensor b) {
    const importer::Imported made = imported(
        model({node("Gemm", {"x", "w", "b"}, "y")}, {reals("w", {4, 2}, std::vector<float>(8)), std::move(b)}));
    if (!made.problems.empty()) return made.problems[0];
    return text(importer::elements_of(made.weights.at(1).tensor)[0], " ",
                importer::elements_of(made.weights[1].tensor).at(1));
  };
  CHECK(bias(reals("b", {1}, {3})) == "3 3");
  CHECK(bias(reals("b", {}, {3})) == "3 3");
  CHECK(bias(reals("b", {1, 2}, {3, 4})) == "3 4");
  CHECK(bias(reals("b", {3}, {3, 4, 5})).find("must be a row that fits its weight") != std::string::npos);
  CHECK(bias(reals("b", {2, 1}, {3, 4})).find("must be a row") != std::string::npos);
}

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
  CHECK(of("Mod", {least, 1, 2, 3}, -1) == "[4] 0 0 0 0");
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
TEST_CASE("names of the file that C++ has for itself") {
  for (const char* const word : {"protected", "requires", "nullptr", "alignas", "co_await", "bitand", "char8_t",
                                 "static_assert", "thread_local", "typeid", "constexpr", "wchar_t", "value_in"}) {
    ReadModel m = model({node("Relu", {word}, "y")}, {});
    m.inputs[0].name = word;
    CHECK(result(m) == "relu(" + std::string(word) + "_)");
  }
}
TEST_CASE("a batch normalization that is written out is the cell") {
  const auto nodes = [](const std::string& shape) {
    return std::vector{node("Reshape", {"m", shape}, "m3"), node("Sub", {"x", "m3"}, "d"),
                       node("Add", {"v", "e"}, "a"),        node("Sqrt", {"a"}, "r"),
                       node("Div", {"g", "r"}, "q"),        node("Reshape", {"q", shape}, "q3"),
                       node("Mul", {"q3", "d"}, "p"),       node("Reshape", {"b", shape}, "b3"),
                       node("Add", {"b3", "p"}, "y")};
  };
  std::vector<ReadTensor> weights{reals("e", {}, {1e-3f}), wholes("s3", {3}, {2, 1, 1}), wholes("s1", {1}, {2})};
  for (const char* const name : {"g", "b", "m", "v"}) weights.push_back(reals(name, {2}, {1, 2}));
  const std::string header = imported(model(nodes("s3"), weights, {-1, 2, 3, 3})).header;
  CHECK(header.find("nn::BatchNorm2d<2, nn::BatchNormConfig{.epsilon = 0.001f}>") != std::string::npos);
  CHECK(imported(model(nodes("s1"), weights, {-1, 2})).header.find("nn::BatchNorm1d<2") != std::string::npos);
  CHECK(result(model(nodes("s1"), weights, {-1, 1, 1, 2})).find("do not stand for channels") != std::string::npos);
}
