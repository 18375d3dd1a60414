// Setting: a number that changes between steps, in both modes, before and after it is bound. Other numbers among the
// members of a cell must not change: graphs do not see it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/sequential_cell.hpp>
#include <tenon/nn/setting.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/sub.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

using X = Tensor<float, Shape<dyn, 12>>;

struct Scaled : nn::Cell<Scaled> {
  nn::Setting<2> factor;
  constexpr auto construct(auto x) const { return x * factor; }
};
struct Net : nn::Cell<Net> {
  nn::Setting<0.5f> mix;
  nn::Dense<12, 16> fc1;
  nn::CellList<Scaled, 2> scaled;
  nn::Dense<16, 3> fc2;
  constexpr auto construct(auto x) const {
    const auto h = fc1(x);
    return fc2(scaled(relu(h)) * mix + h * (1.0f - (mix + zeros_like(h))));
  }
};

// What three steps leave; the settings change behind the first.
Trained changed(Mode mode, bool change) {
  const ContextScope scope({.mode = mode});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  const auto data = samples<Shape<12>>(8) | dataset::batch(8);
  Losses losses;
  model.train(1, data, losses);
  if (change) net.mix.set(0.75f), net.scaled[1].factor.set(-1);
  model.train(2, data, losses);
  return {losses.value, bits(net)};
}

// A number that a callback changes between two steps.
struct Scheduled : nn::Cell<Scheduled> {
  nn::Dense<12, 3> fc;
  float factor = 2;
  constexpr auto construct(auto x) const { return fc(x) * factor; }
};
struct Schedule {
  Scheduled* net;
  void step_end(RunInfo&) const { net->factor = 3; }
};

}  // namespace

TEST_CASE("a number that a callback changes is refused by the next step, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Scheduled net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::Loss{}};
    const auto data = samples<Shape<12>>(16) | dataset::batch(8);
    const char* said = "network.factor is 3, its initial value is 2: a graph is compiled with the initial value alone";
    CHECK_THROWS_WITH_AS(model.train(1, data, Schedule{&net}), doctest::Contains(said), ValueError);
    net.factor = 2;
    CHECK_THROWS_WITH_AS((void)model.eval(data, Schedule{&net}), doctest::Contains(said), ValueError);
  }
}

TEST_CASE("Setting: a change holds from the next step on, with equal bits in both modes") {
  const Trained graph = changed(Mode::graph, true), fixed = changed(Mode::graph, false);
  CHECK(graph == changed(Mode::pynative, true));
  CHECK(graph.losses[0] == fixed.losses[0]);
  CHECK(graph.losses[1] != fixed.losses[1]);
}

TEST_CASE("Setting: calls and predictions see the value of now, set before or after the network is bound") {
  const X x = random_tensor<float, Shape<dyn, 12>>(1);
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Scaled net{.factor = 3};
    CHECK(net.factor.value() == 3);
    CHECK(same_bits(net(x), x * 3.0f));
    net.factor.set(-7);
    CHECK(same_bits(net(x), x * -7.0f));
    Scaled early;
    CHECK(early.factor.value() == 2);
    early.factor.set(5);
    Scaled moved = std::move(early);
    CHECK(moved.factor.value() == 5);
    Model model{moved};
    CHECK(same_bits(model.predict(x), x * 5.0f));
    moved.factor.set(6);
    CHECK(same_bits(model.predict(x), x * 6.0f));
    const Scaled copy = moved.clone();
    moved.factor.set(1);
    CHECK(copy.factor.value() == 6);
    CHECK(same_bits(copy(x), x * 6.0f));
  }
}

TEST_CASE("Setting: beside 16-bit floats it takes their dtype") {
  const X x = random_tensor<float, Shape<dyn, 12>>(2);
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Scaled net{.factor = 0.3f};
    Model model{net, NoLoss{}, NoOptimizer{}, amp<AmpLevel::O2>};
    CHECK(same_bits(model.predict(x), cast<float>(cast<bfloat16>(x) * 0.3f)));
  }
}

TEST_CASE("Setting: an argument of compiled functions; no gradient, no parameter, no part of checkpoints") {
  const X x = random_tensor<float, Shape<dyn, 12>>(3);
  Net net;
  net.init_parameters();
  net.mix.set(4);
  const auto product = jit([](auto v, const auto& by) { return v * by; });
  CHECK(same_bits(product(x, net.mix), x * 4.0f));
  CHECK(net.parameters_and_names().size() == 4);
  CHECK(net.parameter_count() == 12 * 16 + 16 + 16 * 3 + 3);
  const std::string path = "/tmp/tenon_setting_" + std::to_string(getpid()) + ".safetensors";
  save_checkpoint(net, path);
  Net loaded{.mix = 9};
  load_checkpoint(path, loaded);
  std::remove(path.c_str());
  CHECK(loaded.mix.value() == 9);
  CHECK(std::ranges::equal(loaded.fc1.weight.values(), net.fc1.weight.values()));
}

namespace {
enum class Kind { plain, twice };
struct Sizes {
  int width = 4;
  float scale = 1;
  bool operator==(const Sizes&) const = default;
};
struct Block : nn::Cell<Block> {
  nn::Dense<12, 12> fc;
  int depth = 2;
  float scale[3]{1, NAN, 0};
  Kind kind = Kind::plain;
  bool relu = true;
  Sizes sizes;
  constexpr auto construct(auto x) const {
    for (int i = 0; i < depth; ++i) x = fc(x);
    return x * scale[0];
  }
};
struct Deep : nn::Cell<Deep> {
  Block block, row[2];
  nn::CellList<Block, 2> list;
  nn::SequentialCell<nn::Frozen<Block>, Block> chain;
  Block deeper{.depth = 3};
  nn::Dense<12, 3> last;
  constexpr auto construct(auto x) const { return last(deeper(chain(list(row[1](block(x)))))); }
};
struct Focal : nn::Cell<Focal> {
  nn::SoftmaxCrossEntropyWithLogits<> loss;
  float factor = 1;
  constexpr auto construct(auto prediction, auto label) const { return loss(prediction, label) * factor; }
};

// The message of the ValueError that f throws.
template <class F>
std::string refused(F f) {
  try {
    f();
  } catch (const ValueError& e) {
    return e.what();
  }
  return "nothing";
}
}  // namespace

TEST_CASE("a changed number among the members is refused in both modes, wherever it stands") {
  const X x = random_tensor<float, Shape<dyn, 12>>(4);
  const std::string cure = ": a graph is compiled with the initial value alone. Make it a template argument of Block";
  const std::string setting = cure + ", or, if it is a number in a formula, declare it as nn::Setting<...> ";
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Deep net;
    const auto call = [&] { net(x); };
    CHECK(refused(call) == "nothing");
    net.block.depth = 7;
    CHECK(refused(call) == "network.block.depth is 7, its initial value is 2" + setting + "depth.");
    net.block.depth = 2, net.row[1].scale[2] = -0.0f;
    CHECK(refused(call) == "network.row.1.scale[2] is -0, its initial value is 0" + setting + "scale.");
    net.row[1].scale[2] = 0, net.list.block[1].kind = Kind::twice;
    CHECK(refused(call) == "network.list.1.kind is 1, its initial value is 0" + cure + ".");
    net.list.block[1].kind = Kind::plain, net.chain.chain.first.cell.relu = false;
    CHECK(refused(call) == "network.chain.0.relu is false, its initial value is true" + cure + ".");
    net.chain.chain.first.cell.relu = true, net.chain.chain.rest.first.sizes.width = 5;
    CHECK(refused(call) == "network.chain.1.sizes has another value than at first" + cure + ".");
    net.chain.chain.rest.first.sizes.width = 4, net.deeper.depth = 2;
    CHECK(refused(call) == "network.deeper.depth is 2, its initial value is 3" + setting + "depth.");
    CHECK(refused([&] { net.clone(); }) != "nothing");
    net.deeper.depth = 3;
    CHECK(refused(call) == "nothing");
    // a part on its own: its graph knows the value of its own class alone
    CHECK(refused([&] { net.deeper(x); }) == "network.depth is 3, its initial value is 2" + setting + "depth.");
  }
}

TEST_CASE("a Model refuses changed numbers when it is made, and before it trains, evaluates, or predicts") {
  const auto data = samples<Shape<12>>(8) | dataset::batch(4);
  const auto x = random_tensor<float, Shape<dyn, 12>>(5), one = random_tensor<float, Shape<dyn, 12>>(6, 1);
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Deep net{.block = {.depth = 7}};
    const auto make = [&] { Model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::Loss{}}; };
    CHECK(refused(make).starts_with("network.block.depth is 7, its initial value is 2"));
    net.block.depth = 2;
    Model model{net, Focal{}, momentum(), nn::Loss{}};
    CHECK(refused([&] { model.train(1, data), model.eval(data), model.predict(x); }) == "nothing");
    net.block.depth = 1;
    CHECK(refused([&] { model.train(1, data); }) == refused([&] { model.eval(data); }));
    CHECK(refused([&] { model.train(1, data); }).starts_with("network.block.depth is 1"));
    CHECK(refused([&] { model.predict(x); }).starts_with("network.block.depth is 1"));
    CHECK(refused([&] { model.predict(one); }).starts_with("network.block.depth is 1"));
    net.block.depth = 2;
    CHECK(refused([&] { model.predict(x), model.predict(one); }) == "nothing");
    CHECK(refused([&] {
            Model{net, Focal{.factor = 2}, momentum()};
          }).starts_with("loss.factor is 2, its initial value is 1"));
  }
}
