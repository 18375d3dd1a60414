// Gradient accumulation: the same as one large batch, both modes, clipping, loss scales, frozen parameters, resuming.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <unistd.h>

#include <tenon/nn/optim/accumulate_gradients.hpp>
#include <tenon/nn/optim/adafactor.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/rmsprop.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/train/amp.hpp>
#include <tenon/train/optimizer_step.hpp>
#include <tenon/train/training_file.hpp>

#include "../../train/small.hpp"

using namespace small;

namespace {
nn::SGD plain() { return {.learning_rate = 1.0f}; }
nn::Adam adam() { return {.learning_rate = 0.01f, .weight_decay = 0.1f}; }

std::vector<double> values_of(const auto& net) {
  std::vector<double> all;
  for (const io::NamedTensor& one : named_parameters(net)) {
    const auto* const data = static_cast<const float*>(one.tensor.data);
    all.insert(all.end(), data, data + one.tensor.count());
  }
  return all;
}
template <class N = Net, class O, class Data, class... Parts>
std::string trained(Mode mode, const O& optimizer, const Data& data, long epochs, Parts... parts) {
  set_context({.mode = mode, .seed = 4});
  N net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...);
  model.train(epochs, data);
  return bits(net);
}
template <class O, class Data>
std::vector<double> numbers(const O& optimizer, const Data& data, long epochs) {
  set_context({.mode = Mode::graph, .seed = 4});
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
  model.train(epochs, data);
  return values_of(net);
}
template <class O>
void check_as_one_batch(const O& optimizer) {
  const auto small = numbers(nn::AccumulateGradients{optimizer, 3}, samples(60) | dataset::batch(4), 2),
             large = numbers(optimizer, samples(60) | dataset::batch(12), 2);
  double worst = 0;
  for (std::size_t i = 0; i < small.size(); ++i) worst = std::fmax(worst, std::fabs(small[i] - large[i]));
  CHECK(worst < 2e-6);
}
/// The learning rates before and after each step.
struct WatchRates {
  std::vector<float>& seen;
  void on_train_step_begin(auto& run) { seen.push_back(run.learning_rate()); }
  void on_train_step_end(auto& run) { seen.push_back(run.learning_rate()); }
};
/// Has a parameter that construct does not use.
struct Idle : nn::Cell<Idle> {
  nn::Dense<3, 2> fc;
  nn::Dense<3, 2> idle;
  constexpr auto construct(auto x) const { return fc(x); }
};
}  // namespace

TEST_CASE("the mean of the losses of a large batch is what several small ones train") {
  check_as_one_batch(plain());
  check_as_one_batch(nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.1f});
  check_as_one_batch(adam());
  check_as_one_batch(nn::ClipByGlobalNorm{plain(), 0.1f});
  check_as_one_batch(nn::ClipByNorm{plain(), 0.05f});
  check_as_one_batch(nn::ClipByValue{plain(), 0.02f});
}
TEST_CASE("one batch is no accumulation: no bit changes") {
  const auto data = samples(40) | dataset::batch(8);
  const std::string expected = trained(Mode::graph, adam(), data, 2);
  CHECK(trained(Mode::graph, nn::AccumulateGradients{adam(), 1}, data, 2) == expected);
  CHECK(trained(Mode::pynative, nn::AccumulateGradients{adam(), 1}, data, 2) == expected);
}
TEST_CASE("both modes, one thread and two, slots with other initial values and types: equal bits") {
  const auto check = [](const auto& optimizer) {
    std::string expected;
    for (const int threads : {1, 2})
      for (const Mode mode : {Mode::graph, Mode::pynative}) {
        set_context({.num_threads = threads});
        const std::string found = trained(mode, optimizer, samples(200) | dataset::batch(40), 3);
        if (expected.empty()) expected = found;
        CHECK(found == expected);
      }
    set_context({.num_threads = 1});
  };
  check(nn::AccumulateGradients{nn::ClipByGlobalNorm{adam(), 0.1f}, 2});
  check(nn::AccumulateGradients{nn::RMSProp{.learning_rate = 0.01f}, 2});
  check(nn::AccumulateGradients{nn::AdaFactor{.learning_rate = 0.01f}, 2});
}
TEST_CASE("clipping inside or around is the same") {
  const auto data = samples(64) | dataset::batch(8);
  CHECK(trained(Mode::graph, nn::AccumulateGradients{nn::ClipByGlobalNorm{adam(), 0.1f}, 4}, data, 2) ==
        trained(Mode::graph, nn::ClipByGlobalNorm{nn::AccumulateGradients{adam(), 4}, 0.1f}, data, 2));
}
TEST_CASE("nothing moves before the last batch, and a sum goes on across epochs and runs") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AccumulateGradients{adam(), 4});
    const std::string before = bits(net);
    model.train(1, samples(30) | dataset::batch(10));
    CHECK(bits(net) == before);
    model.train(1, samples(10) | dataset::batch(10));
    CHECK(bits(net) != before);
  }
}
TEST_CASE("a learning rate of the step counts updates") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{},
                nn::AccumulateGradients{nn::SGD{.learning_rate = std::vector<float>{1, 0, 1}}, 2});
    const auto two_steps = samples(20) | dataset::batch(10);
    const std::string first = (model.train(1, two_steps), bits(net)), second = (model.train(1, two_steps), bits(net));
    CHECK(first == second);
    model.train(1, two_steps);
    CHECK(bits(net) != second);
  }
}
TEST_CASE("a list of learning rates has a value for each update, none for batches that are left") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{},
                nn::AccumulateGradients{nn::SGD{.learning_rate = std::vector<float>{1, 0.5f}}, 2});
    std::vector<float> seen;
    WatchRates watch{seen};
    model.train(1, samples(50) | dataset::batch(10), watch);  // two updates, and a batch
    CHECK(seen == std::vector<float>{1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
    const std::string after = bits(net);
    CHECK_THROWS_WITH_AS(model.train(1, samples(10) | dataset::batch(10)),
                         doctest::Contains("The learning rate list has 2 values, step 2 needs one more"), ValueError);
    CHECK(bits(net) == after);
  }
}
TEST_CASE("with a loss scale: powers of two leave the bits alone, one overflow drops the update of all its batches") {
  std::string expected;
  for (const float scale : {1.0f, 1024.0f})
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      const std::string found = trained(mode, nn::AccumulateGradients{adam(), 2}, samples(40) | dataset::batch(10), 2,
                                        amp<AmpLevel::O2>, FixedLossScaleManager<true>{.loss_scale = scale});
      if (expected.empty()) expected = found;
      CHECK(found == expected);
    }
  std::vector<float> x(60, 0.5f);
  x[4] = std::numeric_limits<float>::infinity();  // in the first of two batches
  const auto data =
      dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(std::vector<std::int32_t>(20, 1))) |
      dataset::batch(10);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AccumulateGradients{plain(), 2}, amp<AmpLevel::O2>,
                FixedLossScaleManager<true>{.loss_scale = 1});
    const std::string before = bits(net);
    model.train(1, data);
    CHECK(bits(net) == before);
    model.train(1, samples(20) | dataset::batch(10));
    CHECK(bits(net) != before);
    for (const double v : values_of(net)) CHECK(std::isfinite(v));
  }
}
TEST_CASE("16-bit parameters have sums of 32 bits") {
  CHECK(trained(Mode::graph, nn::AccumulateGradients{adam(), 2}, samples(40) | dataset::batch(10), 2,
                amp<AmpLevel::O3>) == trained(Mode::pynative, nn::AccumulateGradients{adam(), 2},
                                              samples(40) | dataset::batch(10), 2, amp<AmpLevel::O3>));
}
TEST_CASE("parameters that are frozen, or that the loss does not depend on, keep their values in both modes") {
  const nn::AccumulateGradients optimizer{nn::ClipByGlobalNorm{adam(), 0.1f}, 2};
  CHECK(trained<Idle>(Mode::graph, optimizer, samples(40) | dataset::batch(10), 2) ==
        trained<Idle>(Mode::pynative, optimizer, samples(40) | dataset::batch(10), 2));
  std::string expected;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 4});
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
    const std::vector<double> before = values_of(net);
    net.fc1.requires_grad(false);
    model.train(1, samples(40) | dataset::batch(10));
    CHECK(std::equal(before.begin(), before.begin() + 32, values_of(net).begin()));
    net.fc1.requires_grad(true);
    model.train(1, samples(40) | dataset::batch(10));
    CHECK(values_of(net)[0] != before[0]);
    if (expected.empty()) expected = bits(net);
    CHECK(bits(net) == expected);
  }
}
namespace {
struct One : nn::Cell<One> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
/// Freezes a network in some steps of a run.
struct FrozenIn {
  long first, last;
  void on_train_step_begin(auto& run) {
    run.model.network().requires_grad(run.cur_step_num < first || run.cur_step_num > last);
  }
};
}  // namespace
TEST_CASE("a parameter that is frozen when a sum begins adds nothing of the sum before") {
  const auto data = samples(10) | dataset::batch(10);  // one step an epoch
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const long first : {3L, 2L}) {  // with the sum, or within the one before
      set_context({.mode = mode, .seed = 4});
      One net, other;
      Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AccumulateGradients{nn::SGD{.learning_rate = 1.0f}, 2});
      Model plain(other, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.5f});
      model.train(4, data, FrozenIn{first, 3});
      if (first == 3) Model(other, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 1.0f}).train(1, data);
      plain.train(1, data);  // half of the gradient in step 4
      const std::vector<double> found = values_of(net), expected = values_of(other);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) < 1e-6);
    }
}
TEST_CASE("a custom loop: a parameter that is frozen when a sum begins") {
  const auto x = Tensor<float, Shape<2, 3>>::from({1, 2, 3, 4, 5, 6});
  One net;
  OptimizerStep optimizer(net, nn::AccumulateGradients{nn::SGD{.learning_rate = 1.0f}, 2});
  const auto step = [&] { optimizer(std::get<1>(value_and_grad([&] { return reduce_sum(net(x)); }, net)())); };
  step(), step();
  const std::vector<double> before = values_of(net);
  net.requires_grad(false);
  step();
  net.requires_grad(true);
  step();
  CHECK(values_of(net)[0] == doctest::Approx(before[0] - 2.5));  // the mean of no gradient and of 1 + 4
}
TEST_CASE("saved in the middle of a sum, and resumed: the same bits") {
  const auto data = samples(30) | dataset::batch(10);  // three steps, two a sum
  const nn::AccumulateGradients optimizer{adam(), 2};
  const std::string expected = trained(Mode::graph, optimizer, data, 2);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tenon_sum_" + std::to_string(::getpid()) + ".safetensors")).string();
  {
    Net net;
    Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
    model.train(1, data);
    save_training(model, path);
  }
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer);
  load_training(path, model);
  std::filesystem::remove(path);
  model.train(1, data);
  CHECK(bits(net) == expected);
}
TEST_CASE("what is refused") {
  Net net;
  CHECK_THROWS_WITH_AS(Model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AccumulateGradients{plain(), 0}),
                       "AccumulateGradients: batches must be 1 or more, got 0.", ValueError);
  const auto data = samples(10) | dataset::batch(10);
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AccumulateGradients{plain(), 2});
  model.train(2, data);
  const std::vector<double> before = values_of(net);
  for (const long batches : {4L, 1L, 0L}) {
    model.optimizer().batches = batches;
    CHECK_THROWS_WITH_AS(model.train(1, data), doctest::Contains("AccumulateGradients: batches has changed from 2 to "),
                         RuntimeError);
  }
  CHECK(values_of(net) == before);
  model.optimizer().batches = 2;
  model.train(2, data);
  CHECK(values_of(net) != before);
}
