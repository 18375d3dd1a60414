// link: protozero
// tenon-import: what becomes of single nodes. Wanted values are those of ONNX Runtime 1.32.
#include <doctest/doctest.h>

#include "../support/onnx_nodes.hpp"

using namespace support;
using tenon::text;

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
TEST_CASE("settings of cells that a header has several times get a name, those of operators do not") {
  const std::string twice =
      "nn::Dense<1, 2, nn::DenseConfig{.has_bias = false}> o;\nattention<AttentionConfig{.scale = 1}>(q)\n";
  std::string code = twice + twice;
  CHECK(importer::NamedSettings(code).constants == "constexpr nn::DenseConfig without_bias{.has_bias = false};\n");
  CHECK(code.starts_with("nn::Dense<1, 2, without_bias> o;\nattention<AttentionConfig{.scale = 1}>(q)\n"));
}
