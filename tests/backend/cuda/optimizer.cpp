// Updates of optimizers on the target Cuda, on the emulator or, compiled by nvcc, on a GPU: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/nn/nn.hpp>
#include <tenon/ops/overflow_check.hpp>

#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

namespace {
/// The numbers of an optimizer in its third step.
template <class Optimizer>
Tensor<float, Shape<nn::max_numbers>> numbers_of(const Optimizer& optimizer) {
  nn::Numbers numbers;
  numbers.learning_rate() = optimizer.learning_rate.at(2);
  numbers.weight_decay() = optimizer.weight_decay;
  numbers.gradient_scale() = 1 / optimizer.loss_scale;
  optimizer.numbers(2, numbers);
  auto own = Tensor<float, Shape<nn::max_numbers>>::empty();
  std::copy_n(numbers.value, nn::max_numbers, own.data());
  return own;
}

/// One step of Op on `count` elements of type T with gradients of type G, here and on the GPU.
template <class Op, auto config, class T, class G, std::size_t... Moment, class Optimizer>
void check_step(const Optimizer& optimizer, long count, std::index_sequence<Moment...>) {
  CAPTURE(Op::name);
  CAPTURE(name(dtype_of<T>));
  CAPTURE(name(dtype_of<G>));
  CAPTURE(count);
  using X = Tensor<T, Shape<dyn>>;
  const auto gradient = random_tensor<G, Shape<dyn>>(2, -1, 1, count);
  const auto numbers = numbers_of(optimizer);
  const auto changed = [&](std::string_view target) {
    const FlushDenormals flush;
    const ContextScope scope({.device_target = target});
    std::vector<X> x{random_tensor<T, Shape<dyn>>(1, -1, 1, count),
                     random_tensor<T, Shape<dyn>>(3 + Moment, 0.125, 1, count)...};
    apply<Op, config>(std::source_location::current(), x[0], gradient.copy(), x[1 + Moment]..., numbers.copy());
    return x;
  };
  const auto here = changed("CPU"), there = changed("GPU");
  for (std::size_t k = 0; k < here.size(); ++k) CHECK(support::detail::SameThere()(here[k], there[k]));
  if (count > 1) CHECK(!SameNumbers()(here[0], random_tensor<T, Shape<dyn>>(1, -1, 1, count)));
}
template <class Op, int moments, auto config = NoConfig{}, bool every_dtype = false, class Optimizer>
void check_update(const Optimizer& optimizer) {
  const auto check = [&]<class T, class G>(T, G, long count) {
    check_step<Op, config, T, G>(optimizer, count, std::make_index_sequence<std::size_t(moments)>());
  };
  for (const long count : {1, 4, 1999}) check(1.0f, 1.0f, count);
  check(1.0, 1.0, 257), check(float16(1), float16(1), 257);
  if constexpr (every_dtype) {
    check(bfloat16(1), bfloat16(1), 257);
    check(1.0f, float16(1), 259), check(1.0f, bfloat16(1), 256);
  }
}
}  // namespace

TEST_CASE("all updates that are defined element by element") {
  using namespace ops;
  check_update<ApplyMomentum, 1, ApplyMomentumConfig{}, true>(nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f});
  check_update<ApplyMomentum, 1, ApplyMomentumConfig{1}>(
      nn::NesterovMomentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f, .loss_scale = 4});
  check_update<ApplySgd, 1, ApplySgdConfig{}>(
      nn::SGD{.learning_rate = 0.1, .momentum = 0.9f, .dampening = 0.25f, .weight_decay = 0.25f});
  check_update<ApplySgd, 1, ApplySgdConfig{1}>(nn::NesterovSGD{.learning_rate = 0.1, .momentum = 0.9f});
  check_update<ApplyAdam, 2, ApplyAdamConfig{}, true>(nn::Adam{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyAdam, 3, ApplyAdamConfig{1, 1}>(
      nn::AdamWith<nn::AdamConfig{.use_nesterov = true, .use_amsgrad = true}>{.learning_rate = 0.05});
  check_update<ApplyAdamWeightDecay, 2>(nn::AdamWeightDecay{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyAdamax, 2>(nn::AdaMax{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyRmsprop, 2, ApplyRmspropConfig{}>(nn::RMSProp{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyRmsprop, 3, ApplyRmspropConfig{1}>(nn::RMSPropWith<true>{.learning_rate = 0.05, .momentum = 0.5f});
  check_update<ApplyAdagrad, 1>(nn::Adagrad{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyProximalAdagrad, 1>(nn::ProximalAdagrad{.learning_rate = 0.05, .l1 = 0.01f, .l2 = 0.02f});
  check_update<ApplyAdadelta, 2>(nn::Adadelta{.learning_rate = 0.05, .weight_decay = 0.25f});
  check_update<ApplyFtrl, 2>(nn::FTRL{.learning_rate = 0.05, .l1 = 0.01f, .l2 = 0.02f});
  check_update<ApplyFtrl, 2>(nn::FTRL{.learning_rate = 0.05, .lr_power = -0.75f});
  check_update<ApplyAsgd, 1>(nn::ASGD{.learning_rate = 0.05, .t0 = 1, .weight_decay = 0.25f});
  check_update<ApplyRprop, 2>(nn::Rprop{.learning_rate = 0.05});
  check_update<ApplyLamb, 2>(nn::Lamb{.learning_rate = 0.05, .weight_decay = 0.25f});
}

namespace {
/// The two sums of Op over a parameter of shape S, and the numbers that Renewed makes of them.
template <class Op, class Renewed, class T, class S, class G = T, class Optimizer, class... Moments>
void check_norms(const Optimizer& optimizer, const Moments&... moments) {
  CAPTURE(Op::name);
  CAPTURE(name(dtype_of<T>));
  CAPTURE(S::dims);
  const auto parameter = random_tensor<T, S>(1, -1, 1);
  const auto sums = [](const auto&... x) { return apply<Op>(std::source_location::current(), x...); };
  const auto gradient = random_tensor<G, S>(2, -1, 1);
  const auto numbers = numbers_of(optimizer);
  check_bits(sums, parameter, gradient, moments..., numbers);
  check_bits(
      [](const auto& two, const auto& n, const auto& p) {
        if constexpr (std::is_same_v<Renewed, ops::AdafactorNumbers>)
          return apply<Renewed>(std::source_location::current(), two, n, p);
        else return apply<Renewed>(std::source_location::current(), two, n);
      },
      sums(parameter, gradient, moments..., numbers), numbers, parameter);
}
/// All that AdaFactor computes of a gradient for a parameter of shape S, whose matrices have means of
/// the shapes Rows and Columns.
template <class T, class S, class Rows, class Columns, class G = T>
void check_adafactor() {
  using namespace ops;
  using A = Compute<T>;
  const auto numbers = numbers_of(nn::AdaFactor{.weight_decay = 0.25f});
  const auto gradient = random_tensor<G, S>(2, -1, 1);
  const auto row = random_tensor<A, Rows>(3, 0.125, 1), row_factor = random_tensor<A, Rows>(4, 0.5, 2);
  const auto column = random_tensor<A, Columns>(5, 0.125, 1), column_factor = random_tensor<A, Columns>(6, 0.5, 2);
  const auto means = []<class Of>(Of, const auto& given, const auto& g, const auto& n) {
    auto mean = given.copy();
    apply<AdafactorMeans, AdafactorMeans::Config{Of::value}>(std::source_location::current(), mean, g, n);
    return mean;
  };
  check_bits([=](const auto&... x) { return means(std::integral_constant<int, 1>(), x...); }, row, gradient, numbers);
  check_bits([=](const auto&... x) { return means(std::integral_constant<int, 0>(), x...); }, column, gradient,
             numbers);
  const auto factors = []<class Of>(Of, const auto& mean) {
    return apply<AdafactorFactors, AdafactorMeans::Config{Of::value}>(std::source_location::current(), mean);
  };
  check_bits([=](const auto& x) { return factors(std::integral_constant<int, 1>(), x); }, row);
  check_bits([=](const auto& x) { return factors(std::integral_constant<int, 0>(), x); }, column);
  check_norms<AdafactorSquares, AdafactorNumbers, T, S, G>(nn::AdaFactor{}, row_factor, column_factor);
  check_bits(
      [](const auto& given, const auto& g, const auto& r, const auto& c, const auto& velocity, const auto& n) {
        auto p = given.copy(), moment = velocity.copy();
        apply<ApplyAdafactor, ApplyAdafactor::Config{1, 1}>(std::source_location::current(), p, g, r, c, moment, n);
        return p + moment;
      },
      random_tensor<T, S>(1, -1, 1), gradient, row_factor, column_factor, random_tensor<T, S>(7, -1, 1), numbers);
}
}  // namespace

TEST_CASE("sums of squares over whole parameters, in pieces that are full or not, and numbers made of them") {
  using namespace ops;
  const auto lamb = []<class T, class S, class G>(T, S, G) {
    check_norms<LambSquares, LambNumbers, T, S, G>(nn::Lamb{.learning_rate = 0.05, .weight_decay = 0.25f},
                                                   random_tensor<T, S>(3, 0.125, 1), random_tensor<T, S>(4, 0.125, 1));
  };
  lamb(1.0f, Shape<1>(), 1.0f), lamb(1.0f, Shape<1024>(), 1.0f), lamb(1.0f, Shape<37, 83>(), float16());
  lamb(1.0, Shape<1025>(), 1.0), lamb(float16(), Shape<37, 83>(), float16());
  lamb(bfloat16(), Shape<1023>(), bfloat16());
  const nn::LARS lars(nn::Momentum{.learning_rate = 0.05, .momentum = 0.5f, .weight_decay = 0.25f});
  check_norms<LarsSquares, LarsNumbers, float, Shape<17, 61>>(lars);
  check_norms<LarsSquares, LarsNumbers, double, Shape<17, 61>>(lars);
}

TEST_CASE("numbers made of more pieces than a lane's chain has") {
  const auto numbers = numbers_of(nn::Lamb{.learning_rate = 0.05});
  check_bits(
      [](const auto& sums, const auto& n) { return apply<ops::LambNumbers>(std::source_location::current(), sums, n); },
      random_tensor<float, Shape<2, 20011>>(1, 0, 1), numbers);
  for (const double squares : {0.0, 0.25, 9.0, double(INFINITY), double(NAN)})
    check_bits([](const auto&... x) { return apply<ops::ClipNumbers>(std::source_location::current(), x...); }, numbers,
               Tensor<double, Shape<>>::full(squares), Tensor<float, Shape<>>::full(1.5f));
}

TEST_CASE("AdaFactor: rows and columns that are longer than chains, many short rows, matrices") {
  check_adafactor<float, Shape<2, 70, 33>, Shape<2, 70>, Shape<2, 33>>();
  check_adafactor<float, Shape<700, 3>, Shape<700>, Shape<3>, float16>();
  check_adafactor<float, Shape<3, 2100>, Shape<3>, Shape<2100>>();
  check_adafactor<double, Shape<40, 9>, Shape<40>, Shape<9>>();
  check_adafactor<float16, Shape<40, 9>, Shape<40>, Shape<9>>();
  check_adafactor<bfloat16, Shape<1100, 9>, Shape<1100>, Shape<9>>();
}

TEST_CASE("a flag is set by what is not finite, and stays set") {
  const auto check = []<class T>(T) {
    const ContextScope scope({.device_target = "GPU"});
    for (const float wrong : {INFINITY, -INFINITY, NAN}) {
      const auto flag = Tensor<std::int32_t, Shape<>>::full(0);
      auto gradient = random_tensor<T, Shape<3001>>(1);
      gradient.data()[7] = T(65504.0f);
      const auto look = [&] { apply<ops::OverflowCheck>(std::source_location::current(), flag, gradient); };
      look();
      CHECK(flag.item() == 0);
      gradient.data()[3000] = T(wrong);
      look();
      CHECK(flag.item() == 1);
      gradient.data()[3000] = T(1.0f);
      look();
      CHECK(flag.item() == 1);
    }
  };
  check(1.0f), check(1.0), check(float16(1.0f)), check(bfloat16(1.0f));
}
