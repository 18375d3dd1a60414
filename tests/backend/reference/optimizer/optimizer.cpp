// Reference: steps of every optimizer, dropout, and the check for overflow, as a training uses them, beside the CPU.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/optim/adam_weight_decay.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/overflow_check.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/train/model.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr std::string_view targets[]{"CPU", "Reference"};

/// The network computes its own loss.
template <class T>
struct Net : nn::Cell<Net<T>> {
  Parameter<T, Shape<7, 33>, nn::Normal{0.5f}> weight;
  Parameter<T, Shape<33>, nn::Zero{}> gamma;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop;
  constexpr auto construct(auto x) const {
    const auto y = drop(matmul(x, weight)) + gamma;
    return reduce_mean(y * y + y);
  }
};
template <class T>
auto rows() {
  std::vector<T> x;
  Random random(5);
  for (int i = 0; i < 11 * 7; ++i) x.push_back(T(random.uniform(-1, 1)));
  return dataset::from_arrays(dataset::column<Shape<7>>(x)) | dataset::batch(4);
}

/// Trains two epochs of three steps on both targets, and compares all parameters.
template <class T, class Optimizer>
void check_steps(const Optimizer& optimizer) {
  CAPTURE(name(dtype_of<T>));
  CAPTURE(Optimizer::name);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    std::vector<double> trained[2];
    for (int k = 0; k < 2; ++k) {
      const ContextScope scope({.mode = mode, .device_target = targets[k], .seed = 1});
      Net<T> net;
      Model model{net, NoLoss{}, optimizer};
      model.train(2, rows<T>());
      for (const T v : net.weight.values()) trained[k].push_back(double(v));
      for (const T v : net.gamma.values()) trained[k].push_back(double(v));
    }
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < trained[0].size(); ++i) {
      worst = std::fmax(worst, std::fabs(trained[0][i] - trained[1][i]));
      largest = std::fmax(largest, std::fabs(trained[0][i]));
    }
    CAPTURE(worst);
    CHECK(largest > 0.1);
    CHECK(worst <= support::detail::near_enough<T> * largest);
  }
}
}  // namespace

TEST_CASE("all optimizers, several steps") {
  const auto check = []<class T>(T) {
    check_steps<T>(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f});
    check_steps<T>(nn::NesterovMomentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f});
    check_steps<T>(nn::SGD{.learning_rate = 0.1, .weight_decay = 0.25f});
    check_steps<T>(nn::SGD{.learning_rate = 0.1, .momentum = 0.9f, .dampening = 0.25f, .weight_decay = 0.25f});
    check_steps<T>(nn::NesterovSGD{.learning_rate = 0.1, .momentum = 0.9f});
    check_steps<T>(nn::Adam{.learning_rate = 0.05, .eps = 1e-3f, .weight_decay = 0.25f});
    check_steps<T>(nn::AdamWith<nn::AdamConfig{.use_nesterov = true, .use_amsgrad = true}>{
        .learning_rate = 0.05, .beta2 = 0.5f, .eps = 1e-3f});
    check_steps<T>(nn::AdamWeightDecay{.learning_rate = 0.05, .eps = 1e-3f, .weight_decay = 0.25f});
  };
  check(1.0f), check(1.0), check(float16(1.0f));
}

TEST_CASE("dropout draws the same numbers, also for the gradient and where a group of words is not full") {
  const auto check = []<class T>(T) {
    for (const long n : {1, 40}) {
      const auto x = random_tensor<T, Shape<dyn, 37>>(2, 1, 2, n);
      const auto rate = Tensor<float, Shape<>>::full(0.3f);
      Tensor<std::uint64_t, Shape<2>> state = Tensor<std::uint64_t, Shape<2>>::empty();
      state.data()[0] = 11, state.data()[1] = 12;
      const auto drop = [](const auto& v, const auto& p, const auto& s) {
        return apply_with<ops::Dropout>(std::source_location::current(), 13, v, p, s);
      };
      const auto here = both_modes(drop, x, rate, state).result;
      const ContextScope scope({.device_target = "Reference"});
      const auto there = drop(x, rate, state);
      for (long i = 0; i < here.count(); ++i) CHECK((here.data()[i] == T(0.0f)) == (there.data()[i] == T(0.0f)));
    }
  };
  check(1.0f), check(1.0), check(float16(1.0f)), check(bfloat16(1.0f));
}

TEST_CASE("a flag is set by what is not finite, and stays set") {
  const auto check = []<class T>(T) {
    for (const std::string_view target : targets) {
      const ContextScope scope({.device_target = target});
      for (const float wrong : {INFINITY, -INFINITY, NAN}) {
        const auto flag = Tensor<std::int32_t, Shape<>>::full(0);
        auto gradient = random_tensor<T, Shape<17>>(1);
        apply<ops::OverflowCheck>(std::source_location::current(), flag, gradient);
        CHECK(flag.item() == 0);
        gradient.data()[16] = T(wrong);
        apply<ops::OverflowCheck>(std::source_location::current(), flag, gradient);
        gradient.data()[16] = T(1.0f);
        apply<ops::OverflowCheck>(std::source_location::current(), flag, gradient);
        CHECK(flag.item() == 1);
      }
    }
  };
  check(1.0f), check(1.0), check(float16(1.0f)), check(bfloat16(1.0f));
}
