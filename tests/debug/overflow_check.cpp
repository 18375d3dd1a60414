// flags: -DTENON_OBSERVE
// An injected NaN is named in one line: the operator, its cell, the line of the source; and what a dump with
// op_debug_mode writes of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <tenon/tenon.hpp>

#include <tenon/debug/dump/compare_dumps.hpp>
#include <tenon/debug/dump/mindspore_dump.hpp>
#include <tenon/debug/overflow_check.hpp>

using namespace tenon;
using namespace tenon::debug;
namespace fs = std::filesystem;

namespace {
struct Block : nn::Cell<Block> {
  nn::Conv2d<4, 4, 3> conv1;
  nn::Conv2d<4, 4, 3> conv2;
  static constexpr int line = __LINE__ + 1;
  constexpr auto construct(auto x) const { return relu(conv2(relu(conv1(x))) + x); }
};
/// Of the operators of a training step the 17th is the second convolution of the second block.
struct ResNet : nn::Cell<ResNet> {
  nn::Conv2d<3, 4, 3> conv1;
  nn::BatchNorm2d<4> bn1;
  nn::Conv2d<4, 4, 3> conv2;
  nn::CellList<Block, 2> blocks;
  nn::Dense<4, 2> fc;
  constexpr auto construct(auto x) const {
    auto y = max_pool2d<2>(relu(conv2(relu(bn1(conv1(x))))));
    auto z = blocks[1](blocks[0](y));
    return fc(reduce_mean<2, 3>(z));
  }
};
constexpr const char* seventeenth = "Default/network-ResNet/blocks-CellList/1-Block/conv2-Conv2d/Conv2D-op0";

auto data(float first = 0.5f) {
  std::vector<float> x(4 * 3 * 8 * 8, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 7) / 7;
  x[0] = first;
  return dataset::from_arrays(dataset::column<Shape<3, 8, 8>>(std::move(x)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1, 1, 0})) |
         dataset::batch(2);
}
auto model_of(ResNet& net) {
  return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
}
std::string bits(const ResNet& net) {
  const ParameterList list(net);
  return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
}
struct Names {
  static constexpr bool every_value = true;
  std::vector<std::string> names;
  void before(const Operation& operation) { names.emplace_back(operation.name); }
  void after(const Operation&) {}
};
struct InjectNan {
  ResNet& net;
  void step_begin(RunInfo& run) {
    if (run.cur_step_num == 2) net.blocks[1].conv2.weight.values()[5] = NAN;
  }
};
}  // namespace

TEST_CASE("a NaN in the 17th operator of a ResNet, from the second step on, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode});
    ResNet net;
    Names order;
    OverflowCheck check;
    CHECK_THROWS_AS(model_of(net).train(1, data(), InjectNan{net}, order, check), ValueError);  // the loss is NaN
    REQUIRE(order.names.size() > 17);
    CHECK(order.names[16] == seventeenth);
    CHECK(check.found());
    CHECK(check.operation() == seventeenth);
    const std::string sentence = check.sentence();
    CAPTURE(sentence);
    CHECK(sentence.starts_with(text("Overflow in step 2: ", seventeenth, ", in network.blocks.1.conv2 at ")));
    CHECK(sentence.find(text("overflow_check.cpp:", Block::line,
                             ", is the first operator whose result is not finite: ")) != sentence.npos);
    CHECK(sentence.ends_with("its operand 1 is not finite either: it came with the data or the parameters."));
    CHECK(sentence.find('\n') == sentence.npos);
  }
}

TEST_CASE("it changes no weight, and says nothing where all is finite") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode});
    ResNet plain, checked, watched;
    model_of(plain).train(2, data());
    OverflowCheck check, watcher;
    model_of(checked).train(2, data(), check);
    {
      const Watching scope(watcher);
      model_of(watched).train(2, data());
    }
    CHECK(!check.found());
    CHECK(!watcher.found());
    CHECK(check.sentence().empty());
    CHECK(bits(plain) == bits(checked));
    CHECK(bits(plain) == bits(watched));
  }
}

TEST_CASE("as a watcher it names the network and the kind of step; data may be the cause") {
  ResNet net;
  OverflowCheck check;
  const Watching scope(check);
  Model model(net);
  const auto good = Tensor<float, Shape<dyn, 3, 8, 8>>::full(1, 1);
  model.predict(good);
  CHECK(!check.found());
  auto x = Tensor<float, Shape<dyn, 3, 8, 8>>::full(1, 1);
  x.values()[0] = INFINITY;
  model.predict(x);
  const std::string sentence = check.sentence();
  CAPTURE(sentence);
  CHECK(sentence.starts_with(
      "Overflow in step 1 (predict) of ResNet: Default/network-ResNet/conv1-Conv2d/Conv2D-op0, in network.conv1 at "));
  CHECK(sentence.ends_with("its operand 0 is not finite either: it came with the data or the parameters."));
}

namespace {
/// An observer that predicts in the middle of the step that it sees.
struct Predicts {
  ResNet& net;
  int operations = 0;
  void before(const Operation&) {}
  void after(const Operation&) {
    if (++operations == 3) Model{net}.predict(Tensor<float, Shape<dyn, 3, 8, 8>>::full(1, 1));
  }
};
}  // namespace

TEST_CASE("a step inside another one does not rename it") {
  ResNet net, inner;
  OverflowCheck check;
  const Watching scope(check);
  CHECK_THROWS_AS(model_of(net).train(1, data(), InjectNan{net}, Predicts{inner}), ValueError);
  const std::string sentence = check.sentence();
  CAPTURE(sentence);
  CHECK(sentence.starts_with("Overflow in step 1 (train) of ResNet: "));
}

TEST_CASE("op_debug_mode dumps the operators that overflow alone, with operands and results") {
  const fs::path folder = fs::absolute("overflow_dump");
  fs::remove_all(folder);
  {
    DumpConfig config = dump_everything(folder.string());
    config.what.only_overflow = true;
    config.what.slots = DumpedSlots::outputs;
    auto dump = mindspore_dump(std::move(config));
    const Watching scope(dump);
    ResNet net;
    CHECK_THROWS_AS(model_of(net).train(1, data(), InjectNan{net}), ValueError);
  }
  const std::vector<DumpFile> files = dump_files(folder.string());
  const std::string name = "Conv2D.Default_network-ResNet_blocks-CellList_1-Block_conv2-Conv2d_Conv2D-op0.";
  CHECK(files[0].tensor == "rank_0/ResNet/0/1/" + name + "input.0");
  CHECK(files[1].tensor == "rank_0/ResNet/0/1/" + name + "input.1");
  CHECK(files[2].tensor == "rank_0/ResNet/0/1/" + name + "output.0");
  CHECK(!fs::exists(folder / "rank_0/ResNet/0/0"));
  CHECK(io::read_file((folder / "rank_0/execution_order/ms_global_execution_order_graph_0.csv").string()) == "1\n");
  fs::remove_all(folder);
}

TEST_CASE("NaN and infinity are counted in each floating-point dtype, by their bits") {
  const auto check = [](auto zero, double largest) {
    using T = decltype(zero);
    T values[]{T(0.0f), T(-1.5f), T(NAN), T(INFINITY), T(-INFINITY), T(-NAN), T(float(largest)), T(-0.0f)};
    const std::int64_t shape[]{8};
    const NotFinite found(AnyTensor(dtype_of<T>, shape, values));
    CHECK(found.nan == 2);
    CHECK(found.infinite == 2);
  };
  check(0.0f, 3.4e38);
  check(0.0, 3.4e38);
  check(float16(0), 65504);
  check(bfloat16(0), 3.3e38);
  std::int32_t whole[]{0x7fc00000};
  const std::int64_t one[]{1};
  CHECK(!NotFinite(AnyTensor(Dtype::int32, one, whole)));
}

TEST_CASE("the cell of a full scope name") {
  CHECK(cell_of_operation("Default/network-Net/blocks-CellList/2-Block/conv2-Conv2d/Conv2D-op0") ==
        "network.blocks.2.conv2");
  CHECK(cell_of_operation("Gradients/Default/network-Net/conv1-Conv2d/Grad_Conv2D/Conv2DBackpropFilter-op0") ==
        "network.conv1");
  CHECK(cell_of_operation("Default/network/conv1/Conv2D-op0") == "network.conv1");
  CHECK(cell_of_operation("Default/Add-op0") == "");
}
