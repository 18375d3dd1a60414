// Setting: a number that changes between steps, in both modes, before and after it is bound.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <tenon/nn/cell_list.hpp>
#include <tenon/nn/jit.hpp>
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

}  // namespace

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
