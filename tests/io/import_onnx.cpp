// link: protozero
// tenon-import: two small files that PyTorch 2.9 wrote become the headers beside them, which compute the same as ONNX
// Runtime; damaged files are refused. tests/onnx/import.sh has six whole networks.
#include <doctest/doctest.h>

#include <unistd.h>
#include <filesystem>
#include <random>

#include <tenon/tenon.hpp>
#include <tenon/train/load_param_into_net.hpp>

#include "../../examples/tools/import/import.hpp"
#include "onnx_files/control.hpp"
#include "onnx_files/mlp_new.hpp"
#include "onnx_files/sequence_new.hpp"
#include "onnx_files/small.hpp"

using namespace tenon;

namespace {
const std::string here = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/')) + "/onnx_files/";

importer::Imported imported(const std::string& name) {
  return importer::import_model(onnx::read_model(here + name + ".onnx"), name, "", {});
}
template <class Net>
void take_weights(const Net& net, const importer::Imported& made) {
  std::vector<io::NamedTensor> tensors;
  for (const importer::Weight& w : made.weights)
    tensors.push_back({w.name, AnyTensor(Dtype::float32, w.tensor.extents, const_cast<char*>(w.tensor.bytes.data()))});
  load_param_into_net(net, tensors, {.strict = true});
}
template <class S>
Tensor<float, S> filled(long n, int step = 7, int period = 11) {
  auto x = Tensor<float, S>::zeros(n);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = float(i * step % period - period / 2) / 4;
  return x;
}
void compare(const auto& y, const std::vector<float>& wanted) {
  REQUIRE(std::size_t(y.count()) == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(y.data()[i] - wanted[i]) < 1e-5f);
}
/// In both modes, against ONNX Runtime 1.32.
template <class Net, class S>
void check(const Net& net, const std::vector<float>& wanted) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    compare(net(filled<S>(2)), wanted);
  }
  set_context({.mode = Mode::graph});
}
std::string model_of(const std::string& graph) {
  return "\x3a" + std::string{char(graph.size())} + graph + "\x42\x02\x10\x11";
}
}  // namespace

TEST_CASE("the headers are those that are checked in, and compute the same") {
  const importer::Imported mlp = imported("mlp_new"), small = imported("small");
  CHECK(mlp.header == io::read_file(here + "mlp_new.hpp"));
  CHECK(small.header == io::read_file(here + "small.hpp"));
  const mlp_new::Mlp perceptron;
  take_weights(perceptron, mlp);
  check<mlp_new::Mlp, Shape<dyn, 4>>(perceptron,
                                     {-0.27881777f, 0.4708186f, 0.22509621f, -0.2872762f, 0.22516984f, -0.11882962f});
  const small::Small residual;
  take_weights(residual, small);
  check<small::Small, Shape<dyn, 1, 8, 8>>(
      residual, {-0.7031952f, -1.8738385f, -1.0456433f, -0.70259905f, -1.8858323f, -1.0412844f});
}

TEST_CASE("attention of PyTorch, with the steps first, is a cell that has the samples first") {
  const importer::Imported made = imported("sequence_new");
  CHECK(made.header == io::read_file(here + "sequence_new.hpp"));
  CHECK(made.notes.size() == 3);
  const sequence_new::Sequence net;
  take_weights(net, made);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    const auto [y, last] = net(filled<Shape<dyn, 3, 4>>(2), filled<Shape<dyn, 2, 4>>(2, 5, 13));
    compare(
        y, {-1.8749794f, 1.1431909f, -2.4291101f, 1.9619192f,   -0.8454622f, -0.25239027f, -0.59972811f,  0.7313922f,
            -1.4156185f, 1.5390954f, -2.1087246f, -0.42791778f, -1.7699035f, -0.32954842f, -0.094695091f, 1.1091155f,
            -1.2753465f, 1.6005236f, -1.8128139f, -0.10925548f, 0.11996111f, -1.1042205f,  -2.1961555f,   0.86076099f});
    compare(last,
            {-1.7670751f, 0.76921052f, -1.8174951f, -0.64298546f, 0.4687776f, -0.41936985f, -2.4811978f, 0.89688474f});
  }
  set_context({.mode = Mode::graph});
}

TEST_CASE("loops and conditions are lambdas") {
  const importer::Imported made = imported("control");
  const auto without_spaces = [](std::string code) {  // lambdas have other lines in a header that is formatted
    std::erase_if(code, [](char c) { return c == ' ' || c == '\n'; });
    return code;
  };
  CHECK(without_spaces(made.header) == without_spaces(io::read_file(here + "control.hpp")));
  const control::Control net;
  take_weights(net, made);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    const auto [all, root] = net(filled<Shape<dyn, 4, 3>>(2));
    compare(all,
            {-0.36228561f, -0.88983595f, -0.51891297f, -1.0818336f, 0.45952928f, -1.7005148f, -0.20683157f, -2.9597042f,
             1.2250441f, 0.67319977f, 2.1952217f, 0.81280375f, 2.1165009f, -1.7818481f, 2.5769448f, -2.7094359f});
    compare(root, {1.5569265f});
  }
  set_context({.mode = Mode::graph});
}

namespace {
onnx::ReadNode& node_of(onnx::ReadGraph& graph, std::string_view operation) {
  for (onnx::ReadNode& node : graph.nodes)
    if (node.operation == operation) return node;
  throw_error<KeyError>("no such node");
}
onnx::ReadGraph& graph_of(onnx::ReadNode& node, std::string_view name) { return *node.find(name)->graph; }
std::string problem_of(const onnx::ReadModel& model) {
  const importer::Imported made = importer::import_model(model, "control", "", {});
  return made.problems.empty() ? "" : made.problems[0];
}
/// A graph whose only node has a graph as an attribute, and so on.
std::string nested(int depth) {
  if (depth == 0) return "";
  std::string bytes;
  protozero::pbf_writer graph(bytes), node(graph, 1), attribute(node, 5);
  attribute.add_message(6, nested(depth - 1));
  attribute.commit(), node.commit();
  return bytes;
}
}  // namespace

TEST_CASE("loops and conditions that Tenon does not have") {
  const auto read = [] { return onnx::read_model(here + "control.onnx"); };
  onnx::ReadModel model = read();
  CHECK(problem_of(model) == "");
  onnx::ReadGraph* turn = &graph_of(node_of(model, "Scan"), "body");
  node_of(graph_of(node_of(*turn, "If"), "then_branch"), "Tanh").operation = "NonZero";
  CHECK(problem_of(model).find("(NonZero of version 17)") != std::string::npos);
  model = read();
  turn = &graph_of(node_of(model, "Scan"), "body");
  node_of(graph_of(node_of(*turn, "If"), "then_branch"), "Identity").inputs[0] = node_of(*turn, "If").inputs[0];
  CHECK(problem_of(model).find("its branches return values of other shapes or types") != std::string::npos);
  model = read();
  onnx::ReadNode& loop = node_of(model, "Loop");
  graph_of(loop, "body").outputs.push_back(graph_of(loop, "body").outputs.back());
  loop.outputs.push_back("results");
  CHECK(problem_of(model).find("the number of its results is not known") != std::string::npos);
  model = read();
  node_of(model, "Loop").attributes.clear();
  CHECK(problem_of(model).find("it has no graph 'body'") != std::string::npos);
  // graphs in each other, and many nodes
  const auto file_of = [](const std::string& graph) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_message(7, graph);
    return bytes;
  };
  CHECK(onnx::parse_model(file_of(nested(8)), "f").nodes.size() == 1);
  CHECK_THROWS_WITH_AS(onnx::parse_model(file_of(nested(9)), "f"),
                       doctest::Contains("more than 8 graphs in each other"), RuntimeError);
  std::string nodes;
  for (int k = 0; k < 200'001; ++k) nodes += std::string("\x0a\0", 2);
  CHECK_THROWS_WITH_AS(onnx::parse_model(file_of(nodes), "f"), doctest::Contains("more than 200000 nodes"),
                       RuntimeError);
}

TEST_CASE("a sentence for each node that is out of scope") {
  onnx::ReadModel model = onnx::read_model(here + "mlp_new.onnx");
  for (onnx::ReadNode& node : model.nodes)
    if (node.operation == "Relu") node.operation = "NonZero";
  const importer::Imported made = importer::import_model(model, "mlp", "", {});
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].find("node 'node_relu' (NonZero of version 20)") != std::string::npos);
  model.inputs[0].names = {"batch", "seq"}, model.inputs[0].extents = {-1, -1};
  try {
    importer::import_model(model, "mlp", "", {});
    CHECK(false);
  } catch (const ValueError& error) {
    CHECK(std::string(error.what()).find("--extent seq=32,64,128") != std::string::npos);
  }
  model.opset = 9;
  CHECK_THROWS_AS(importer::import_model(model, "mlp", "", {}), ValueError);
}

TEST_CASE("1,000 mutations of each file are refused or read") {
  std::mt19937 random(1);
  for (const std::string name : {"mlp_new", "small", "sequence_new", "control", "writer", "reader", "image"}) {
    const std::string file = io::read_file(here + name + ".onnx");
    long refused = 0;
    for (int k = 0; k < 1000; ++k) {
      std::string damaged = file;
      if (k % 4 == 0) damaged.resize(random() % file.size());
      for (unsigned times = 1 + random() % 4; !damaged.empty() && times > 0; --times)
        damaged[random() % damaged.size()] = char(random());
      try {
        importer::Imported made =
            importer::import_model(onnx::parse_model(damaged, here + "f.onnx"), name, "", {{{"seq", {2, 4}}}});
        refused += !made.problems.empty();
        std::size_t bytes = 0;
        for (const auto& weight : made.weights) bytes += weight.tensor.bytes.size();
        CHECK(bytes < 8 * file.size());
      } catch (const ValueError&) {
        ++refused;
      } catch (const RuntimeError&) {
        ++refused;
      }
    }
    CHECK(refused > 100);
    CHECK(refused < 1000);
  }
}

TEST_CASE("external data: a regular file next to the model, and only its bytes") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tenon_import_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "model.onnx").string();
  io::write_file((folder / "data").string(), std::string("0123456789abcdef"));
  std::filesystem::create_symlink(folder / "data", folder / "link");
  // a tensor "w" of float32 [2] whose bytes are elsewhere
  const auto file = [](const std::string& location, const std::string& offset) {
    const auto entry = [](const std::string& key, const std::string& value) {
      const std::string both =
          "\x0a" + std::string{char(key.size())} + key + "\x12" + std::string{char(value.size())} + value;
      return "\x6a" + std::string{char(both.size())} + both;
    };
    const std::string tensor =
        "\x08\x02\x10\x01\x42\x01w" + entry("location", location) + entry("offset", offset) + "\x70\x01";
    return model_of("\x2a" + std::string{char(tensor.size())} + tensor);
  };
  CHECK(onnx::parse_model(file("data", "4"), path).initializers.at(0).bytes == "456789ab");
  for (const char* const location : {"link", "../data", "/etc/passwd", "", "..", "nothing", "."})
    CHECK_THROWS_AS(onnx::parse_model(file(location, "0"), path), RuntimeError);
  for (const char* const offset : {"9", "16", "99999999999999999", "-1", "x", ""})
    CHECK_THROWS_AS(onnx::parse_model(file("data", offset), path), RuntimeError);
  std::filesystem::create_hard_link(folder / "data", folder / "other");
  CHECK_THROWS_AS(onnx::parse_model(file("data", "4"), path), RuntimeError);
  std::filesystem::remove_all(folder);
}
