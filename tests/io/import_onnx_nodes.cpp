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
TEST_CASE("borders of each kind, and what they do not fit") {
  const auto pad = [](const std::string& mode, std::vector<std::int64_t> pads, std::vector<ReadTensor> more = {}) {
    std::vector<std::string> inputs{"x", "p"};
    for (const ReadTensor& t : more) inputs.push_back(t.name);
    const auto count = std::int64_t(pads.size());
    more.push_back(wholes("p", {count}, std::move(pads)));
    ReadAttribute how;
    how.name = "mode", how.text = mode;
    return result(model({node("Pad", inputs, "y", {how})}, std::move(more), {-1, 2, 4}));
  };
  CHECK(pad("constant", {0, 1, 0, 0, 0, 2}) == "pad<Margin{}, Margin{1, 0}, Margin{0, 2}>(x)");
  CHECK(pad("constant", {0, 0, 1, 0, 0, 1}, {reals("v", {}, {-2.5f})}) ==
        "pad<Margin{}, Margin{}, Margin{1, 1}>(x, -2.5f)");
  CHECK(pad("constant", {1, 1}, {reals("v", {}, {0}), wholes("axes", {1}, {-1})}) ==
        "pad<Margin{}, Margin{}, Margin{1, 1}>(x)");
  CHECK(pad("reflect", {0, 0, 3, 0, 0, 1}) == "pad_reflect<Margin{}, Margin{}, Margin{3, 1}>(x)");
  CHECK(pad("edge", {0, 5, 0, 0, 0, 0}).find("wider than its input") != std::string::npos);
  CHECK(pad("reflect", {0, 0, 4, 0, 0, 0}).find("wider than its input") != std::string::npos);
  CHECK(pad("constant", {1, 0, 0, 0, 0, 0}).find("dynamic axis") != std::string::npos);
  CHECK(pad("constant", {0, -1, 0, 0, 0, 0}).find("take elements away") != std::string::npos);
  CHECK(pad("constant", {0, 0, least, 0, 0, 0}).find("take elements away") != std::string::npos);
  CHECK(pad("constant", {0, 0, 1, 0, 0}).find("damaged") != std::string::npos);
}
TEST_CASE("parts with steps, and known places of an axis") {
  const auto slice = [](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return result(
        model({node("Slice", {"x", "b", "e", "a", "s"}, "y")},
              {wholes("b", {1}, {begin}), wholes("e", {1}, {end}), wholes("a", {1}, {1}), wholes("s", {1}, {step})},
              {-1, 7}));
  };
  CHECK(slice(1, 7, 2) == "slice<1, Part{.begin = 1, .end = 6, .step = 2}>(x)");
  CHECK(slice(-1, least, -1) == "slice<1, Part{.begin = 6, .step = -1}>(x)");
  CHECK(slice(5, 1, -2) == "slice<1, Part{.begin = 5, .end = 2, .step = -2}>(x)");
  CHECK(slice(0, 1l << 62, 1l << 62) == "slice<1, Part{.begin = 0, .end = 1}>(x)");
  CHECK(slice(6, 0, least) == "slice<1, Part{.begin = 6, .end = 7}>(x)");
  CHECK(slice(3, 3, 2).find("no element") != std::string::npos);
  CHECK(slice(0, 7, 0).find("its step is 0") != std::string::npos);
  const auto gather = [](std::vector<std::int64_t> places) {
    const auto count = std::int64_t(places.size());
    return result(model({node("Gather", {"x", "i"}, "y", {whole("axis", {1})})},
                        {wholes("i", {count}, std::move(places))}, {-1, 7}));
  };
  CHECK(gather({2, 3, 4}) == "slice<1, Part{.begin = 2, .end = 5}>(x)");
  CHECK(gather({-1, 4, 2}) == "slice<1, Part{.begin = 6, .end = 1, .step = -2}>(x)");
  CHECK(gather({2, 1, 0}) == "slice<1, Part{.begin = 2, .step = -1}>(x)");
  CHECK(gather({0, 1, 3}) ==
        "concat<1>(slice<1, Part{.begin = 0, .end = 2}>(x), slice<1, Part{.begin = 3, .end = 4}>(x))");
  CHECK(gather({0, 7}).find("axis 7 is none of 7") != std::string::npos);
}
TEST_CASE("sums of several tensors, and equations") {
  CHECK(result(model({node("Sum", {"x", "x", "x"}, "y")}, {})) == "x + x + x");
  CHECK(result(model({node("Mean", {"x", "x", "c"}, "y")}, {reals("c", {}, {2})})) == "(x + x + 2) / 3");
  const auto einsum = [](const std::string& text, std::size_t count) {
    ReadAttribute equation;
    equation.name = "equation", equation.text = text;
    return result(model({node("Einsum", std::vector<std::string>(count, "x"), "y", {equation})}, {}, {-1, 4, 4}));
  };
  CHECK(einsum("bij, bkj -> bik", 2) == "einsum<\"bij,bkj->bik\">(x, x)");
  CHECK(einsum("bii->b", 1) == "einsum<\"bii->b\">(x)");
  CHECK(einsum("bii", 1) == "einsum<\"bii->b\">(x)");
  CHECK(einsum("bij->ij", 1).find("mixes the samples") != std::string::npos);
  CHECK(einsum("bij->ijb", 1).find("only the leading extent") != std::string::npos);
  CHECK(einsum("...ij->...ji", 1).find("ellipsis") != std::string::npos);
  for (const char* const damaged : {"bij->bik", "bij->bb", "bi->b", "bij,bij->b", "b\"j->b", ""})
    CHECK(einsum(damaged, 1).find("its equation") != std::string::npos);
}
TEST_CASE("pixels as channels, repeats, classes as rows, elements by number") {
  const auto image = [](const std::string& operation, std::vector<ReadAttribute> attributes) {
    const importer::Imported made =
        imported(model({node(operation, {"x"}, "y", std::move(attributes))}, {}, {-1, 8, 4, 6}));
    return made.problems.empty() ? made.header : made.problems[0];
  };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  ReadAttribute crd;
  crd.name = "mode", crd.text = "CRD";
  CHECK(has(image("DepthToSpace", {whole("blocksize", {2}), crd}), "pixel_shuffle<2>(x)"));
  CHECK(has(image("DepthToSpace", {whole("blocksize", {2})}),
            "reshape<Shape<dyn, 2, 8, 12>>(transpose<0, 3, 4, 1, 5, 2>(reshape<Shape<dyn, 2, 2, 2, 4, 6>>(x)))"));
  CHECK(has(image("SpaceToDepth", {whole("blocksize", {2})}),
            "reshape<Shape<dyn, 32, 2, 3>>(transpose<0, 3, 5, 1, 2, 4>(reshape<Shape<dyn, 8, 2, 2, 3, 2>>(x)))"));
  CHECK(has(image("DepthToSpace", {whole("blocksize", {3})}), "does not divide"));
  CHECK(has(image("SpaceToDepth", {whole("blocksize", {4})}), "does not divide"));
  CHECK(has(image("SpaceToDepth", {}), "damaged"));
  CHECK(result(model({node("Tile", {"x", "r"}, "y")}, {wholes("r", {2}, {1, 3})})) == "tile<1, 3>(x)");
  CHECK(result(model({node("Tile", {"x", "r"}, "y")}, {wholes("r", {2}, {2, 1})})).find("samples") !=
        std::string::npos);
  const auto one_hot = [](ReadTensor values, std::vector<ReadAttribute> attributes = {}) {
    return result(model({node("OneHot", {"x", "d", "v"}, "y", std::move(attributes))},
                        {wholes("d", {}, {5}), std::move(values)}, {-1, 4}, 7));
  };
  CHECK(one_hot(reals("v", {2}, {0, 1})) == "one_hot<5>(x)");
  CHECK(one_hot(reals("v", {2}, {0.5f, 2})) == "one_hot<5, float, 2.0f, 0.5f>(x)");
  CHECK(one_hot(wholes("v", {2}, {0, 1})) == "one_hot<5, std::int64_t>(x)");
  CHECK(one_hot(wholes("v", {2}, {1, 2})).find("other than 0 and 1") != std::string::npos);
  CHECK(one_hot(reals("v", {2}, {0, 1}), {whole("axis", {0})}).find("last axis") != std::string::npos);
  const auto lines = [](const std::string& operation, std::vector<std::string> inputs, std::int64_t axis) {
    ReadModel m = model({node(operation, std::move(inputs), "y", {whole("axis", {axis})})}, {});
    m.inputs.push_back({"i", 7, {-1, 2}, {"", ""}}), m.inputs.push_back({"u", 1, {-1, 2}, {"", ""}});
    return result(m);
  };
  CHECK(lines("GatherElements", {"x", "i"}, 1) == "gather_elements<1>(x, i)");
  CHECK(lines("ScatterElements", {"x", "i", "u"}, -1) == "tensor_scatter_elements<1>(x, i, u)");
  CHECK(lines("GatherElements", {"x", "i"}, 0).find("all other axes") != std::string::npos);
}
TEST_CASE("norms of instances and groups") {
  const auto norm = [](const std::string& operation, std::vector<ReadAttribute> attributes, std::size_t weights,
                       std::vector<std::int64_t> x) {
    const auto row = [&](const char* name, float value) {
      return reals(name, {std::int64_t(weights)}, std::vector<float>(weights, value));
    };
    const importer::Imported made = imported(model({node(operation, {"x", "/g", "/b"}, "y", std::move(attributes))},
                                                   {row("/g", 1), row("/b", 0)}, std::move(x)));
    if (!made.problems.empty()) return made.problems[0];
    const std::size_t at = made.header.find("  nn::");
    return made.header.substr(at + 2, made.header.find(';', at) - at - 2);
  };
  CHECK(norm("InstanceNormalization", {}, 6, {-1, 6, 3, 3}) ==
        "nn::InstanceNorm2d<6, nn::GroupNormConfig{.affine = false}> norm");
  CHECK(norm("InstanceNormalization", {}, 6, {-1, 6, 9}) ==
        "nn::InstanceNorm1d<6, nn::GroupNormConfig{.affine = false}> norm");
  CHECK(norm("GroupNormalization", {whole("num_groups", {3})}, 6, {-1, 6, 3, 3}) ==
        "nn::GroupNorm<3, 6, nn::GroupNormConfig{.affine = false}> norm");
  CHECK(norm("GroupNormalization", {whole("num_groups", {3})}, 3, {-1, 6, 3, 3}).find("per channel") !=
        std::string::npos);
  CHECK(norm("GroupNormalization", {whole("num_groups", {0})}, 6, {-1, 6, 3, 3}).find("do not divide") !=
        std::string::npos);
}
TEST_CASE("more inputs than a cell takes") {
  ReadModel m = model({node("Relu", {"x"}, "y")}, {});
  for (const char* const name : {"a", "b", "c", "d"}) m.inputs.push_back({name, 1, {-1, 2}, {"", ""}});
  CHECK_THROWS_WITH(imported(m),
                    "the file has 5 inputs, and a cell takes at most 4: join some of them before the export.");
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
TEST_CASE("settings of cells that a header has several times get a name, those of operators do not") {
  const std::string twice =
      "nn::Dense<1, 2, nn::DenseConfig{.has_bias = false}> o;\nattention<AttentionConfig{.scale = 1}>(q)\n";
  std::string code = twice + twice;
  CHECK(importer::NamedSettings(code).constants == "constexpr nn::DenseConfig without_bias{.has_bias = false};\n");
  CHECK(code.starts_with("nn::Dense<1, 2, without_bias> o;\nattention<AttentionConfig{.scale = 1}>(q)\n"));
}
