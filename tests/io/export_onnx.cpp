// link: protozero
// alone: yes
// export_onnx: what is in the file. tests/onnx/export.sh asks ONNX Runtime for the results.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include <tenon/onnx.hpp>

#include "../onnx/messages.hpp"

using namespace tenon;

namespace {

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 2, 3> conv;
  nn::Dropout<nn::DropoutConfig{}> drop;
  nn::Dense<32, 3> fc;
  constexpr auto construct(auto x, auto) const { return softmax(fc(flatten(drop(relu(conv(x)))))); }
};
using Image = Tensor<float, Shape<dyn, 1, 4, 4>>;

struct Folder {
  std::string path = "export_onnx";
  Folder() { std::filesystem::remove_all(path), std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
  long files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }
};
std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
/// The graph of a file, with the shapes of its inputs and outputs by name.
struct File {
  ::onnx::GraphMessage graph;
  std::map<std::string, std::string> values;
  explicit File(const std::string& path) : graph(::onnx::read_graph(path)) {
    const std::string bytes = content(path);
    protozero::pbf_reader model(bytes);
    model.next(7);
    for (protozero::pbf_reader fields = model.get_message(); fields.next();)
      if (fields.tag() == 11 || fields.tag() == 12) read_value(fields.get_message());
      else fields.skip();
  }
  void read_value(protozero::pbf_reader value) {
    std::string name, shape;
    while (value.next())
      if (value.tag() == 1) name = value.get_string();
      else {
        protozero::pbf_reader type = value.get_message();
        type.next();
        for (protozero::pbf_reader tensor = type.get_message(); tensor.next();)
          if (tensor.tag() != 2) tensor.skip();
          else
            for (protozero::pbf_reader extents = tensor.get_message(); extents.next();) {
              protozero::pbf_reader extent = extents.get_message();
              extent.next();
              shape += " " + (extent.tag() == 1 ? std::to_string(extent.get_int64()) : extent.get_string());
            }
      }
    values[name] = shape;
  }
};

}  // namespace

TEST_CASE("a network as ONNX") {
  const Folder folder;
  const Net net;
  export_onnx(net, folder / "net.onnx", Image::empty(2), Tensor<float, Shape<4>>::empty());
  const File file(folder / "net.onnx");
  std::string operations;
  for (const ::onnx::NodeMessage& node : file.graph.nodes) operations += node.operation + " ";
  CHECK(operations == "Conv Relu Reshape Transpose MatMul Add Softmax Identity ");
  CHECK(file.values ==
        std::map<std::string, std::string>{{"input_0", " n 1 4 4"}, {"input_1", " 4"}, {"output", " n 3"}});
  SUBCASE("parameters have their names and bits") {
    int found = 0;
    for (const auto& [name, parameter] : net.parameters_and_names())
      for (const ::onnx::TensorMessage& tensor : file.graph.initializers)
        if (tensor.name == name) {
          ++found;
          const AnyTensor own = parameter.view();
          CHECK(tensor.bytes == std::string(static_cast<const char*>(own.data), own.bytes()));
        }
    CHECK(found == 3);
  }
  SUBCASE("the same network gives the same bytes") {
    export_onnx(net, folder / "again.onnx", Image::empty(5), Tensor<float, Shape<4>>::empty());
    CHECK(content(folder / "again.onnx") == content(folder / "net.onnx"));
  }
}

TEST_CASE("parameters that a message cannot hold are in a second file") {
  const Folder folder;
  const Net net;
  const ParameterList parameters(net);
  parameters.bind();
  using Graph = detail::Forward<Net, TypeKey<Dtype::float32, dyn, 1, 4, 4>, TypeKey<Dtype::float32, 4>>;
  const Builder graph = Graph::trace();
  tenon::onnx::Writer(graph, parameters, folder / "net.onnx", 100).write("Net");
  const std::string elements = content(folder / "net.onnx.data");
  CHECK(content(folder / "net.onnx").find("net.onnx.data") != std::string::npos);
  CHECK(elements.size() % 4096 == 0);
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const AnyTensor own = parameter.view();
    const std::size_t at = elements.find(std::string(static_cast<const char*>(own.data), own.bytes()));
    CHECK(at % 4096 == 0);
  }
}

namespace {
struct Either : nn::Cell<Either> {
  nn::Dense<4, 4> dense;
  constexpr auto construct(auto x) const {
    return cond(reduce_mean(x) > 0.0f, [&](auto v) { return relu(dense(v)); }, [](auto v) { return v * 2.0f; }, x);
  }
};
}  // namespace

TEST_CASE("a condition is one node, and its parameters are the model's") {
  const Folder folder;
  export_onnx(Either(), folder / "either.onnx", Tensor<float, Shape<dyn, 4>>::empty(1));
  const File file(folder / "either.onnx");
  std::string operations;
  for (const ::onnx::NodeMessage& node : file.graph.nodes) operations += node.operation + " ";
  CHECK(operations == "ReduceMean Greater If Identity ");
  int found = 0;
  for (const ::onnx::TensorMessage& tensor : file.graph.initializers) found += tensor.name.starts_with("dense.");
  CHECK(found == 2);
  CHECK(file.values == std::map<std::string, std::string>{{"input_0", " n 4"}, {"output", " n 4"}});
}

namespace {
struct Inverted : nn::Cell<Inverted> {
  constexpr auto construct(auto x) const { return inverse(reshape<Shape<dyn, 2, 2>>(x)); }
};
}  // namespace

namespace {
/// Parameters with the names that a file gives to other values.
struct Named : nn::Cell<Named> {
  Parameter<float, Shape<4>, nn::One{}> output, input_0, output_, constant_0, Add_2, LSTM_9_h;
  constexpr auto construct(auto x) const {
    return ((x + output) * 3.0f * input_0 + constant_0) / Add_2 + LSTM_9_h - output_;
  }
};
/// What ONNX's operators of version 17 do not take: sums of small integers, bfloat16, unsigned integers.
template <class Of>
struct Typed : nn::Cell<Typed<Of>> {
  constexpr auto construct(auto x) const { return Of()(x); }
};
/// The operators of a file, without those of its end.
template <class T, class Of>
std::string operations(Of) {
  const Folder folder;
  export_onnx(Typed<Of>(), folder / "typed.onnx", Tensor<T, Shape<dyn, 4>>::empty(1));
  std::string all;
  for (const ::onnx::NodeMessage& node : File(folder / "typed.onnx").graph.nodes) all += node.operation + " ";
  return all;
}
}  // namespace

TEST_CASE("no two values of a file have one name") {
  const Folder folder;
  const Named net;
  export_onnx(net, folder / "named.onnx", Tensor<float, Shape<dyn, 4>>::empty(1));
  const File file(folder / "named.onnx");
  std::map<std::string, int> names{{"input_0", 1}};
  for (const ::onnx::TensorMessage& tensor : file.graph.initializers) ++names[tensor.name];
  for (const ::onnx::NodeMessage& node : file.graph.nodes)
    for (const std::string& output : node.outputs) ++names[output];
  for (const auto& [name, count] : names) {
    CAPTURE(name);
    CHECK(count == 1);
  }
  for (const char* const name : {"output", "output__", "input_0_", "output_", "constant_0", "Add_2", "LSTM_9_h"}) {
    CAPTURE(name);
    CHECK(names.count(name) == 1);
  }
  CHECK(file.values == std::map<std::string, std::string>{{"input_0", " n 4"}, {"output", " n 4"}});
}

TEST_CASE("dtypes that an operator of ONNX does not take") {
  const auto sum = [](auto x) { return reduce_sum<1>(x); };
  const auto largest = [](auto x) { return reduce_max<1>(x); };
  const auto sine = [](auto x) { return sin(x); };
  const auto minus = [](auto x) { return -x; };
  const auto positive = [](auto x) { return relu(x); };
  const auto power = [](auto x) { return pow(x, x); };
  const auto numbers = [](auto x) { return x + arange<4, std::uint8_t>(x); };
  CHECK(operations<std::int8_t>(sum) == "Cast ReduceSum Cast Identity ");
  CHECK(operations<std::int32_t>(sum) == "ReduceSum Identity ");
  CHECK(operations<std::uint16_t>(largest) == "Cast ReduceMax Cast Identity ");
  CHECK(operations<std::uint8_t>(largest) == "ReduceMax Identity ");
  CHECK(operations<bfloat16>(sine) == "Cast Sin Cast Identity ");
  CHECK(operations<float16>(sine) == "Sin Identity ");
  CHECK(operations<std::uint8_t>(minus) == "Sub Identity ");
  CHECK(operations<std::int8_t>(minus) == "Neg Identity ");
  CHECK(operations<std::uint32_t>(positive) == "Identity Identity ");
  CHECK(operations<std::uint8_t>(numbers) == "Cast Cast Cast Range Cast Add Identity ");
  CHECK_THROWS_WITH_AS(operations<std::uint8_t>(power),
                       doctest::Contains("is Pow of uint8 in ONNX, which version 17 does not have: cast its operands"),
                       ValueError);
}

TEST_CASE("what cannot be written") {
  const Folder folder;
  const auto x = Tensor<float, Shape<dyn, 4>>::empty(1);
  CHECK_THROWS_WITH_AS(export_onnx(Net(), folder / "net.pb", Image::empty(1), Tensor<float, Shape<4>>::empty()),
                       "export_onnx writes a file that ends with .onnx, not export_onnx/net.pb.", ValueError);
  try {
    export_onnx(Inverted(), folder / "inverted.onnx", x);
    FAIL("no error");
  } catch (const ValueError& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find("export_onnx: MatrixInverse in the network") == 0);
    CHECK(text.find("export_onnx.cpp:") != std::string::npos);
    CHECK(text.find("has no rule for ONNX") != std::string::npos);
  }
  CHECK(folder.files() == 0);
  CHECK_THROWS_AS(export_onnx(Net(), "no_folder/net.onnx", Image::empty(1), Tensor<float, Shape<4>>::empty()),
                  RuntimeError);
}
