// flags: -DTENON_OBSERVE
// Writers of dumps: plain files, statistics, and one of a user's; what a writer is told in both modes, and what its
// errors do.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <tenon/debug/dump/npy_dump.hpp>
#include <tenon/debug/dump/statistic_dump.hpp>
#include <tenon/tenon.hpp>

#include "../support/logged.hpp"
#include "../support/npy.hpp"
#include "../support/shared.hpp"

using namespace tenon;
using namespace tenon::debug;
namespace fs = std::filesystem;

namespace {
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 2, 3, nn::Conv2dConfig{.has_bias = true}> conv1;
  nn::Dense<72, 3> fc1;
  constexpr auto construct(auto x) const { return fc1(flatten(relu(conv1(x)))); }
};
using Images = Tensor<float, Shape<dyn, 1, 6, 6>>;
auto data() {
  std::vector<float> x;
  for (int i = 0; i < 4 * 36; ++i) x.push_back(float(i % 7) - 3);
  return dataset::from_arrays(dataset::column<Shape<1, 6, 6>>(std::move(x)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1, 2, 0})) |
         dataset::batch(2);
}
/// Trains for two steps under a dump.
template <class W>
void train(Dump<W>& dump, Mode mode = Mode::graph) {
  const ContextScope context({.mode = mode, .seed = 5});
  const Watching scope(dump);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(1, data());
}
/// That of golden/dump.
struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 3, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid}> conv1;
  nn::Conv2d<3, 4, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid}> conv2;
  nn::Dense<64, 8> fc1;
  nn::Dense<8, 3> fc2;
  nn::ReLU relu;
  nn::MaxPool2d<2, nn::Pool2dConfig{.stride = 2}> pool;
  nn::Flatten flatten;
  constexpr auto construct(auto x) const {
    const auto a = pool(relu(conv1(x)));
    const auto b = pool(relu(conv2(a)));
    return fc2(relu(fc1(flatten(b))));
  }
};
struct Folder {
  fs::path path;
  explicit Folder(const char* name) : path(fs::absolute(name)) { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::string string() const { return path.string(); }
  std::set<std::string> names() const {
    std::set<std::string> all;
    if (fs::exists(path))
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) all.insert(fs::relative(entry.path(), path).string());
    return all;
  }
};

/// A writer as a user has it: what it is shown, by name.
struct Recorder {
  struct File {
    DumpedStep step;
    std::map<std::string, std::string> bytes;
  };
  std::vector<std::string>* order;
  std::map<long, std::map<std::string, std::string>>* steps;
  std::string fails{};

  File open(const DumpedStep& step) {
    order->push_back(text("open ", step.network, " ", name(step.kind), " ", step.graph, " ", step.iteration));
    if (fails == "open") throw std::runtime_error("the recorder is full");
    return {step, {}};
  }
  void write(File& file, const DumpedTensor& what, const AnyTensor& tensor) {
    if (fails == "write") throw std::runtime_error("the recorder is full");
    if (what.output) order->push_back(std::string(what.name));
    file.bytes[text(what.name, what.output ? " output " : " input ", what.slot)] =
        std::string(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  void close(File& file) {
    order->push_back("close");
    if (fails == "close") throw std::runtime_error("the recorder is full");
    (*steps)[file.step.iteration] = std::move(file.bytes);
  }
};
struct Recorded {
  std::vector<std::string> order;
  std::map<long, std::map<std::string, std::string>> steps;
};
Recorded recorded(Mode mode, DumpSelection what = {}) {
  Recorded all;
  Dump dump(Recorder{&all.order, &all.steps}, std::move(what));
  train(dump, mode);
  return all;
}
bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}
}  // namespace

TEST_CASE("a writer of one's own is opened, written to, and closed, step by step, alike in both modes") {
  static_assert(DumpWriter<Recorder> && DumpWriter<NpyDump> && DumpWriter<StatisticDump>);
  static_assert(!DumpWriter<int>);
  const Recorded graph = recorded(Mode::graph), pynative = recorded(Mode::pynative);
  CHECK(graph.order == pynative.order);
  CHECK((graph.steps == pynative.steps));
  REQUIRE(graph.order.size() > 10);
  CHECK(graph.order[0] == "open Net train 0 0");
  CHECK(graph.order[1] == "Default/network-Net/conv1-Conv2d/Conv2D-op0");
  CHECK(graph.order.back() == "close");
  CHECK(has(graph.order, "open Net train 0 1"));
  CHECK(has(graph.order, "Default/optimizer/conv1.weight/Momentum-op0"));
  CHECK(has(graph.order, "fc1.bias"));  // a parameter
  REQUIRE(graph.steps.size() == 2);
  CHECK(graph.steps.at(0).at("fc1.weight output 0").size() == 72 * 3 * 4);
  CHECK(graph.steps.at(0).at("fc1.weight output 0") != graph.steps.at(1).at("fc1.weight output 0"));  // it trains
}

TEST_CASE("a selection: operators by type, one side, some steps") {
  DumpSelection what{.mode = DumpMode::kernels, .slots = DumpedSlots::outputs, .kernels = {"conv2d"}};
  what.iterations = Iterations(std::string_view("1"));
  const Recorded all = recorded(Mode::graph, what);
  REQUIRE(all.steps.size() == 1);
  std::set<std::string> names;
  for (const auto& [name, bytes] : all.steps.at(1)) names.insert(name.substr(name.rfind('/') + 1));
  CHECK(names == std::set<std::string>{"Conv2D-op0 output 0", "Conv2DBackpropFilter-op0 output 0"});
}

TEST_CASE("plain files have the values that a writer is shown, in folders as scopes") {
  const Recorded all = recorded(Mode::graph);
  const Folder folder("npy_dump");
  {
    Dump dump(NpyDump{folder.string()});
    train(dump);
  }
  const std::set<std::string> names = folder.names();
  CHECK(names.contains("Net_train_0/0/Default/network-Net/conv1-Conv2d/Conv2D-op0.output.0.npy"));
  CHECK(names.contains("Net_train_0/1/Default/network-Net/conv1-Conv2d/Conv2D-op0.input.1.npy"));
  CHECK(names.contains("Net_train_0/1/Parameter/conv1.weight.npy"));
  CHECK(names.size() == all.steps.at(0).size() + all.steps.at(1).size());
  for (const long step : {0L, 1L}) {
    const std::string below = text(folder.string(), "/Net_train_0/", step, "/");
    const std::string name = "Default/network-Net/fc1-Dense/MatMul-op0";
    CHECK(support::load_npy(below + name + ".output.0.npy").bytes == all.steps.at(step).at(name + " output 0"));
  }
}

TEST_CASE("statistics are a table per step, with a line per tensor") {
  const Recorded all = recorded(Mode::graph);
  const Folder folder("statistic_dump");
  {
    Dump dump(StatisticDump{folder.string()});
    train(dump);
  }
  CHECK(folder.names() == std::set<std::string>{"Net_train_0/0/statistic.csv", "Net_train_0/1/statistic.csv"});
  const std::string table = io::read_file(folder.string() + "/Net_train_0/1/statistic.csv");
  CHECK(table.starts_with(statistic_header));
  CHECK(std::size_t(std::count(table.begin(), table.end(), '\n')) == all.steps.at(1).size() + 1);
}

TEST_CASE("what a writer throws ends its dump with one warning, never the training") {
  for (const char* where : {"open", "write", "close"}) {
    Recorded all;
    const auto run = [&] {
      Dump dump(Recorder{&all.order, &all.steps, where});
      train(dump);
    };
    const std::string said = support::logged({}, run);
    run();
    CHECK(said.find("The dump ends here, the program goes on without it: the recorder is full") != said.npos);
    CHECK(said.find("WARNING") == said.rfind("WARNING"));
    CHECK(all.steps.empty());
    CHECK(std::count(all.order.begin(), all.order.end(), "open Net train 0 0") == 1);
    CHECK(!has(all.order, "open Net train 0 1"));
  }
}

TEST_CASE("MindSpore's names on request: of the golden execution order, and as kernels ask for them") {
  const Recorded all = recorded(Mode::graph, {.names = DumpNames::mindspore});
  for (const char* name :
       {"Default/network-WithLossCell/_backbone-Net/conv1-Conv2d/Conv2D-op0",
        "Default/network-WithLossCell/_backbone-Net/conv1-Conv2d/BiasAdd-op0",
        "Default/network-WithLossCell/_backbone-Net/Flatten-op0",
        "Default/network-WithLossCell/_backbone-Net/fc1-Dense/MatMul-op0",
        "Default/network-WithLossCell/_backbone-Net/fc1-Dense/BiasAdd-op0",
        "Default/network-WithLossCell/_loss_fn-SoftmaxCrossEntropyWithLogits/"
        "SparseSoftmaxCrossEntropyWithLogits-op0",
        "Gradients/Default/network-WithLossCell/_backbone-Net/fc1-Dense/Grad_BiasAdd/BiasAddGrad-op0",
        // four parameters, the last of them first
        "Default/optimizer-Momentum/ApplyMomentum-op0", "Default/optimizer-Momentum/ApplyMomentum-op3"})
    CHECK_MESSAGE(has(all.order, name), std::string(name));
  CHECK(recorded(Mode::pynative, {.names = DumpNames::mindspore}).order == all.order);
  CHECK(all.steps.at(0).at("Default/optimizer-Momentum/ApplyMomentum-op0 input 0").size() == 3 * 4);  // fc1.bias
  CHECK(all.steps.at(0).at("Default/optimizer-Momentum/ApplyMomentum-op3 input 0").size() ==
        2 * 9 * 4);  // conv1.weight
  const auto of = [](std::vector<std::string> kernels) {
    const Recorded some = recorded(Mode::pynative, {.mode = DumpMode::kernels,
                                                    .slots = DumpedSlots::outputs,
                                                    .kernels = std::move(kernels),
                                                    .names = DumpNames::mindspore});
    return some.steps.empty() ? 0 : some.steps.begin()->second.size();
  };
  CHECK(of({"BiasAdd"}) == 4);  // two, and their gradients
  CHECK(of({"ApplyMomentum"}) == 4);
  CHECK(of({"Flatten"}) == 1);
  CHECK(of({"Default/network-WithLossCell/_backbone-Net/conv1-Conv2d/Conv2D-op0"}) == 1);
  CHECK(of({"Momentum-op0"}) == 0);
}

TEST_CASE("golden/dump: the names of a training step of MindSpore's LeNet") {
  if (!support::have_shared("golden/dump/lenet_iter_list")) return;
  const std::string list =
      io::read_file(support::shared_folder() + "/golden/dump/lenet_iter_list/08_ms_execution_order_graph_0.csv");
  Recorded all;
  {
    Dump dump(Recorder{&all.order, &all.steps}, {.names = DumpNames::mindspore});
    const Watching scope(dump);
    LeNet net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
    const auto images = dataset::from_arrays(dataset::column<Shape<1, 28, 28>>(std::vector<float>(2 * 784, 0.5f)),
                                             dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1}));
    model.train(1, images | dataset::batch(2));
  }
  long compared = 0;
  std::map<std::string, int> theirs, ours;  // gradients by type: their numbers and scopes are MindSpore's own
  const auto type_of = [](const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return name.substr(slash + 1, name.rfind("-op") - slash - 1);
  };
  for (const std::string& name : support::lines_of(list)) {
    if (name.starts_with("Default/") && name.find("AssignAdd") == name.npos) {  // Tenon's step number is no tensor
      CHECK_MESSAGE(has(all.order, name), name);
      ++compared;
    } else if (name.starts_with("Gradients/")) ++theirs[type_of(name)];
  }
  CHECK(compared == 19);
  CHECK(has(all.order,
            "Gradients/Default/network-WithLossCell/_backbone-LeNet/flatten-Flatten/Grad_Flatten/Reshape-op0"));
  for (const std::string& name : all.order)
    if (name.starts_with("Gradients/")) ++ours[type_of(name)];
  for (const char* type : {"BiasAddGrad", "Conv2DBackpropFilter", "Conv2DBackpropInput", "ReluGrad", "MaxPoolGrad",
                           "MatMul", "SparseSoftmaxCrossEntropyWithLogits"})
    CHECK_MESSAGE(ours[type] == theirs[type], std::string(type));
}

TEST_CASE("MindSpore's names without classes in scopes, of an evaluation, and of a prediction") {
  Recorded all;
  {
    const ContextScope context({.mode = Mode::graph, .reserve_class_name_in_scope = false});
    Dump dump(Recorder{&all.order, &all.steps}, {.names = DumpNames::mindspore});
    const Watching scope(dump);
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, nn::Loss{}};
    model.eval(data());
    model.predict(Images::full(1, 2));
  }
  CHECK(has(all.order, "Default/_network/fc1/BiasAdd-op0"));
  CHECK(has(all.order, "Default/_loss_fn/SparseSoftmaxCrossEntropyWithLogits-op0"));
  CHECK(has(all.order, "Default/fc1/BiasAdd-op0"));
  CHECK(has(all.order, "Default/Flatten-op0"));
}

TEST_CASE("a name of MindSpore's that no operator has says which option there is") {
  const std::string said =
      support::logged({}, [] { recorded(Mode::graph, {.mode = DumpMode::kernels, .kernels = {"BiasAdd"}}); });
  CHECK(said.find("Unused Kernel in json: 'BiasAdd'. 'BiasAdd' is a name of MindSpore's") != said.npos);
  CHECK(said.find("operator_names") != said.npos);
  const std::string numbered = support::logged({}, [] {
    recorded(Mode::graph, {.mode = DumpMode::kernels,
                           .kernels = {"Default/network-WithLossCell/_backbone-Net/conv1-Conv2d/Conv2D-op1"},
                           .names = DumpNames::mindspore});
  });
  CHECK(numbered.find("There is 'Default/network-WithLossCell/_backbone-Net/conv1-Conv2d/Conv2D-op0'.") !=
        numbered.npos);
  const std::string other =
      support::logged({}, [] { recorded(Mode::graph, {.mode = DumpMode::kernels, .kernels = {"NeverThere"}}); });
  CHECK(other.find("'NeverThere'") != other.npos);
  CHECK(other.find("operator_names") == other.npos);
}
