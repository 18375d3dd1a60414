// Loss scales: a skipped update changes nothing, the factor shrinks and grows as MindSpore's does, both modes agree.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/tenon.hpp>

#include "../../nn/support.hpp"

using namespace tenon;

namespace {

/// Returns its loss p · x + q · z + r · x r; the gradient of p is x.
struct Sum : nn::Cell<Sum> {
  Parameter<float, Shape<2>, nn::One{}> p, q, r;
  constexpr auto construct(auto x, auto z) const { return reduce_mean(x * p + z * q + x * r * r); }
};

constexpr float huge = 1e38f;  // times a factor of 4 or more it is infinite in float32

/// Rows of one sample with these x; z is 1, or huge.
auto rows(const std::vector<float>& x, float z = 1) {
  std::vector<float> both(x.size() * 2), ones(x.size() * 2, z);
  for (std::size_t i = 0; i < x.size(); ++i) both[2 * i] = x[i], both[2 * i + 1] = x[i] / 2;
  return dataset::from_arrays(dataset::column<Shape<2>>(both), dataset::column<Shape<2>>(ones)) | dataset::batch(1);
}

/// Writes down what a callback sees.
struct Seen {
  std::vector<double> scale;
  std::vector<int> overflow;
  void step_end(RunInfo& run) {
    scale.push_back(run.loss_scale);
    overflow.push_back(run.overflow);
  }
};

template <class Optimizer, class... Parts>
std::string after(Mode mode, const Optimizer& optimizer, const std::vector<float>& x, Seen& seen,
                  const Parts&... parts) {
  const ContextScope scope({.mode = mode});
  Sum net;
  Model model{net, NoLoss{}, optimizer, parts...};
  model.train(1, rows(x), seen);
  return cells::bits(net) + [&] {
    std::string moments;
    for (const auto& moment : model.optimizer_state())
      moments.append(static_cast<const char*>(moment.tensor.data), moment.tensor.bytes());
    return moments;
  }();
}

const std::vector<float> with_overflow{1, huge, 0.5f, 0.25f, 1, huge, huge, -1, 0.5f, 2, 1},
    without{1, 0.5f, 0.25f, 1, -1, 0.5f, 2, 1};

template <class Optimizer>
void check_skips(const Optimizer& optimizer) {
  for (const Mode mode : cells::modes) {
    Seen plain, scaled;
    const std::string expected = after(mode, optimizer, without, plain);
    CHECK(expected == after(mode, optimizer, with_overflow, scaled, FixedLossScaleManager{.loss_scale = 1024}));
    CHECK(scaled.overflow == std::vector<int>{0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0});
    CHECK(scaled.scale == std::vector<double>(11, 1024));
    CHECK(plain.scale == std::vector<double>(8, 1));
    CHECK(plain.overflow == std::vector<int>(8, 0));
  }
}

}  // namespace

TEST_CASE(
    "loss scale: a step that overflows leaves parameters, moments, and the optimizer's count of steps as they were") {
  // a rate per update
  check_skips(
      nn::SGD{.learning_rate = {0.5, 0.25, 0.125, 0.0625, 0.5, 0.25, 0.125, 0.0625, 1, 1, 1}, .momentum = 0.9f});
  check_skips(nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f});
  check_skips(nn::Adam{.learning_rate = 0.1f});
  check_skips(nn::AdamWeightDecay{.learning_rate = 0.1f});
}

TEST_CASE("loss scale: without drop_overflow_update the optimizer divides") {
  for (const Mode mode : cells::modes) {
    Seen seen;
    const std::string expected = after(mode, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, without, seen);
    CHECK(expected == after(mode, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f, .loss_scale = 64}, without,
                            seen, FixedLossScaleManager<false>{.loss_scale = 64}));
    CHECK(seen.scale.back() == 64);
    CHECK(seen.overflow.back() == 0);
  }
}

// By hand, with MindSpore's rule: an overflow in step s divides; then every third step after s multiplies.
TEST_CASE("loss scale: the dynamic one shrinks and grows") {
  for (const Mode mode : cells::modes) {
    Seen seen;
    after(mode, nn::SGD{.learning_rate = 0.01f}, {1, huge, 1, 1, 1, 1, 1, 1, huge, huge, 1, 1}, seen,
          DynamicLossScaleManager{.init_loss_scale = 16, .scale_factor = 4, .scale_window = 3});
    CHECK(seen.overflow == std::vector<int>{0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0});
    CHECK(seen.scale == std::vector<double>{16, 16, 4, 4, 4, 16, 16, 16, 64, 16, 4, 4});
  }
  detail::LossScale none(DynamicLossScaleManager{.init_loss_scale = 2, .scale_window = 1}, 1);
  for (int i = 0; i < 3; ++i) none.update(true);
  CHECK(none.value() == 1);  // never below
  for (int i = 0; i < 1000; ++i) none.update(false);
  CHECK(std::isfinite(none.value()));  // never infinite, for it could not shrink again
  CHECK(none.value() > 1e37f);
  CHECK(none.skipped() == 3);
}

TEST_CASE("loss scale: more than 1000 overflows in a row end the training") {
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode});
    Sum net;
    Model model{net, NoLoss{}, nn::SGD{}, DynamicLossScaleManager{}};
    const auto data = rows({std::numeric_limits<float>::infinity()});
    model.train(600, data);
    model.train(1, rows({1}));  // one good step, and they count anew
    model.train(1000, data);
    struct Ends {
      bool told = false;
      void on_train_end(RunInfo& run) { told = run.diverged; }
    } ends;
    CHECK_THROWS_WITH_AS(model.train(1, data, ends),
                         "Model.train: the gradients overflowed in more than 1000 steps in a row, the loss scale is 1. "
                         "Lower the learning rate, or look for bad input or an operator that leaves the range of the "
                         "16-bit type. The network has the weights after the last update.",
                         RuntimeError);
    CHECK(ends.told);
  }
}

TEST_CASE("loss scale: gradients that nobody asks for do not overflow") {
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode});
    Sum net;
    Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.01f}, FixedLossScaleManager{}};
    Seen seen;
    model.train(1, rows({1}, huge), seen);
    net.q.requires_grad(false);
    model.train(1, rows({1}, huge), seen);
    struct Freeze {
      Sum& net;
      void step_begin(RunInfo&) { net.requires_grad(false); }
    } freeze{net};
    model.train(1, rows({huge}), seen, freeze);
    CHECK(seen.overflow == std::vector<int>{1, 0, 0});
  }
}

TEST_CASE("loss scale: an infinite loss with an update ends the training as ever") {
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode});
    Sum net;
    Model model{net, NoLoss{}, nn::SGD{}, FixedLossScaleManager{.loss_scale = 1}};
    CHECK_THROWS_AS(model.train(1, rows({3 * huge})), ValueError);  // 3e38 + 3e38 is infinite, the gradients are not
  }
}

namespace {
/// Wide enough for two threads.
struct Wide : nn::Cell<Wide> {
  nn::Dense<12, 512> fc1;
  nn::Dense<512, 256> fc2;
  nn::Dense<256, 3> fc3;
  constexpr auto construct(auto x) const { return fc3(relu(fc2(relu(fc1(x))))); }
};
template <Passes passes = Passes{}, class... Parts>
cells::Trained trained(Mode mode, int threads, std::vector<double>& scales, const Parts&... parts) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Wide net;
  Model model{with_passes<passes>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.02f, .momentum = 0.9f}, parts...};
  cells::Losses losses;
  Seen seen;
  model.train(10, cells::samples<Shape<12>>(28) | dataset::batch(8), losses, seen);
  scales = seen.scale;
  return {losses.value, cells::bits(net)};
}
}  // namespace

TEST_CASE("loss scale: float16 finds its factor, with one result in both modes, on one and two threads, with and "
          "without passes") {
  std::vector<double> scales, others;
  const auto graph = trained(Mode::graph, 1, scales, amp<AmpLevel::O2, float16>);  // dynamic by default
  CHECK(scales.front() == 16777216);
  CHECK(scales.back() < 1048576);
  CHECK(graph.losses.back() < graph.losses.front() / 2);
  for (const int threads : {1, 2})
    for (const Mode mode : cells::modes) {
      CHECK(graph == trained(mode, threads, others, amp<AmpLevel::O2, float16>));
      CHECK(scales == others);
    }
  CHECK(graph == trained<no_passes>(Mode::graph, 1, others, amp<AmpLevel::O2, float16>));
  // in any order
  CHECK(graph == trained(Mode::graph, 1, others, DynamicLossScaleManager{}, amp<AmpLevel::O2, float16>));
  trained(Mode::graph, 1, others, amp<AmpLevel::O3, float16>);
  CHECK(others.front() == 1);
  trained(Mode::graph, 1, others, amp<AmpLevel::O3, float16>, FixedLossScaleManager{.loss_scale = 256});
  CHECK(others.back() == 256);
}

TEST_CASE("loss scale: updates wait for the look at all gradients, and without one they do not") {
  using Keys = TypeKey<Dtype::float32, dyn, 12>;
  using Labels = TypeKey<Dtype::int32, dyn>;
  using Loss = nn::SoftmaxCrossEntropyWithLogits<>;
  using Drops =
      Compiled<detail::TrainStepIn<Wide, Loss, nn::SGD, MixedPrecision{.scales_loss = true, .drops_overflow = true},
                                   Keys, Labels>>;
  using Scales = Compiled<detail::TrainStepIn<Wide, Loss, nn::SGD, MixedPrecision{.scales_loss = true}, Keys, Labels>>;
  int last_check = 0, first_update = Drops::graph.count, updates = 0, merged = 0;
  for (int id = 0; id < Drops::graph.count; ++id) {
    if (is<ops::OverflowCheck>(Drops::graph[id])) last_check = id;
    if (!is<ops::ApplySgd>(Drops::graph[id])) continue;
    first_update = std::min(first_update, id);
    ++updates;
    CHECK(guarded(Drops::graph, Drops::graph[id]));
  }
  CHECK(updates == 6);
  CHECK(last_check < first_update);
  for (int id = 0; id < Scales::graph.count; ++id) merged += is<ops::ProductUpdate>(Scales::graph[id]);
  CHECK(merged == 3);
}

TEST_CASE("loss scale: numbers that cannot be right") {
  Wide net;
  const auto refuse = [&](const auto& optimizer, const auto& manager, const char* sentence) {
    CHECK_THROWS_WITH_AS((Model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, manager}), sentence, ValueError);
  };
  refuse(nn::SGD{}, FixedLossScaleManager{.loss_scale = 0.5f},
         "FixedLossScaleManager: loss_scale must be a finite number, 1 or more, got 0.5.");
  refuse(nn::SGD{}, DynamicLossScaleManager{.init_loss_scale = 0},
         "DynamicLossScaleManager: init_loss_scale must be a finite number, 1 or more, got 0.");
  refuse(nn::SGD{}, DynamicLossScaleManager{.scale_factor = std::numeric_limits<float>::quiet_NaN()},
         "DynamicLossScaleManager: scale_factor must be a finite number, 1 or more, got nan.");
  refuse(nn::SGD{}, DynamicLossScaleManager{.scale_window = 0},
         "DynamicLossScaleManager: scale_window must be 1 or more, got 0.");
  refuse(nn::SGD{}, FixedLossScaleManager<false>{},
         "FixedLossScaleManager<false>: without drop_overflow_update the optimizer divides the gradients, its "
         "loss_scale must be 128, too, got 1.");
  refuse(nn::SGD{.loss_scale = 128}, FixedLossScaleManager{},
         "FixedLossScaleManager divides the gradients by the loss scale; the optimizer would divide them again, by its "
         "own loss_scale of 128: leave that at 1.");
}
