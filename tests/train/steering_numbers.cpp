// Clipping, accumulated gradients, averages of weights, and schedules against the numbers of PyTorch and MindSpore.
// steering_numbers.py says what the tables are.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <tenon/nn/loss/mse.hpp>
#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/clip.hpp>
#include <tenon/nn/schedule/cosine_decay.hpp>
#include <tenon/nn/schedule/one_cycle.hpp>
#include <tenon/nn/schedule/step_decay.hpp>
#include <tenon/nn/schedule/warm_up.hpp>
#include <tenon/train/callback/weight_average.hpp>
#include <tenon/train/optimizer_step.hpp>

#include "small.hpp"
#include "steering_mindspore.hpp"
#include "steering_torch.hpp"

using namespace tenon;

namespace {
using Row = std::array<float, 8>;
using Table = std::span<const float[8]>;

struct Linear : nn::Cell<Linear> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
void start(Linear& net) {
  net.init_parameters();
  std::ranges::copy(std::array{0.5f, -0.75f, 1.25f, -1.5f, 0.625f, 0.875f}, net.fc.weight.values().begin());
  std::ranges::copy(std::array{1.0f, -0.5f}, net.fc.bias.values().begin());
}
Row row_of(const Linear& net) {
  Row row;
  std::ranges::copy(net.fc.bias.values(), std::ranges::copy(net.fc.weight.values(), row.begin()).out);
  return row;
}
/// Four batches of two samples.
auto batches() {
  const std::vector<float> x{2, -1, 0.5f, 1,  3,  -2,   -1.5f, 0.5f, 4,  0.25f, -2,   1,
                             3, 1,  1,    -2, -3, 0.5f, 1,     0,    -1, 0.5f,  2.5f, 1.5f},
      y{1, 2, -3, 0.5f, 4, -1, 0, 3, -2, 1, 5, 0, 1.5f, -4, 2, 2};
  return dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<2>>(y)) | dataset::batch(2);
}
nn::Momentum momentum() { return {.learning_rate = 0.05f, .momentum = 0.9f}; }

/// The rows after each step.
struct Watch {
  std::vector<Row> rows{};
  void on_train_step_end(auto& run) { rows.push_back(row_of(run.model.network())); }
};

/// Rounding of float32: a 10^6th of the largest number of a row.
void check_row(const Row& found, const float (&expected)[8]) {
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(std::fabs(double(found[i]) - double(expected[i])) <= 1e-6 * double(largest));
  }
}
void check_steps(const auto& optimizer, Table expected) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Linear net;
    start(net);
    Model model{net, nn::MSELoss{}, optimizer};
    Watch watch;
    model.train(2, batches(), watch);
    REQUIRE(watch.rows.size() == expected.size());
    for (std::size_t step = 0; step < expected.size(); ++step) {
      CAPTURE(step);
      check_row(watch.rows[step], expected[step]);
    }
  }
}
/// What the network has when a training of `first`, `first` + 1, and so on epochs is over.
void check_average(const auto& average, long first, Table expected) {
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const ContextScope scope({.mode = mode});
      Linear net;
      start(net);
      Model model{net, nn::MSELoss{}, momentum()};
      auto callback = average;
      model.train(first + long(i), batches(), callback);
      check_row(row_of(net), expected[i]);
    }
}
void check_rates(const auto& schedule, std::span<const double> expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    CAPTURE(step);
    CHECK(std::fabs(schedule(long(step)) - expected[step]) <= 1e-12 * expected[step]);
  }
}
}  // namespace

TEST_CASE("momentum alone, so that what differs below is what is steered") {
  check_steps(momentum(), torch_numbers::plain);
  check_steps(momentum(), mindspore_numbers::plain);
}
TEST_CASE("clipping by value, by the norm of each parameter, and by the norm of all") {
  check_steps(nn::ClipByValue{momentum(), 1.5f}, torch_numbers::by_value);
  check_steps(nn::ClipByValue{momentum(), 1.5f}, mindspore_numbers::by_value);
  check_steps(nn::ClipByNorm{momentum(), 2.0f}, torch_numbers::by_norm);
  check_steps(nn::ClipByNorm{momentum(), 2.0f}, mindspore_numbers::by_norm);
  check_steps(nn::ClipByGlobalNorm{momentum(), 3.0f}, torch_numbers::by_global_norm);
  check_steps(nn::ClipByGlobalNorm{momentum(), 3.0f}, mindspore_numbers::by_global_norm);
}
TEST_CASE("gradients of several batches, alone and clipped") {
  check_steps(nn::AccumulateGradients{momentum(), 2}, torch_numbers::accumulated);
  check_steps(nn::AccumulateGradients{nn::ClipByGlobalNorm{momentum(), 3.0f}, 4},
              torch_numbers::accumulated_by_global_norm);
}
TEST_CASE("a loop of one's own clips and accumulates as a Model") {
  constexpr auto step = [](const auto& net, auto& optimizer, const auto& x, const auto& y) {
    const auto [loss, gradients] = value_and_grad([&] { return nn::MSELoss<>{}(net(x), y); }, net)();
    optimizer(gradients);
    return loss;
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Linear net;
    start(net);
    OptimizerStep optimizer(net, nn::AccumulateGradients{nn::ClipByGlobalNorm{momentum(), 3.0f}, 4});
    const auto compiled = jit(step, net, optimizer);
    std::size_t steps = 0;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const auto& [x, y] : dataset::rows(batches(), epoch)) {
        compiled(x, y);
        check_row(row_of(net), torch_numbers::accumulated_by_global_norm[steps++]);
      }
    CHECK(steps == 8);
  }
}
TEST_CASE("averages of weights: exponential, and the mean of epochs") {
  check_average(ExponentialMovingAverage{.decay = 0.75}, 1, torch_numbers::ema);
  check_average(StochasticWeightAverage{.first_epoch = 2}, 2, torch_numbers::swa);
}
TEST_CASE("schedules that MindSpore does not have") {
  check_rates(nn::OneCycleLR(0.5, 21), torch_numbers::one_cycle_rates);
  check_rates(nn::OneCycleLR(2.0, 17, {.pct_start = 0.45, .div_factor = 4, .final_div_factor = 50}),
              torch_numbers::other_one_cycle_rates);
  check_rates(nn::StepLR(0.8, 3, 0.4), torch_numbers::step_rates);
  check_rates(nn::WarmUpThen(5, nn::CosineDecayLR(0.02, 0.8, 14)), torch_numbers::warm_up_then_cosine_rates);
}
TEST_CASE("a training with a learning rate of each step") {
  nn::Momentum optimizer = momentum();
  optimizer.learning_rate = nn::OneCycleLR(0.08, 8);
  check_steps(optimizer, torch_numbers::one_cycle);
}
