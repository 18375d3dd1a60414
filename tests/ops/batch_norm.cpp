// Batch normalization: values, gradients, equal bits in both modes and on any number of threads, fusion, bad shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/batch_norm.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using support::random_tensor;

namespace {

constexpr ops::BatchNormAttributes rows{1e-5f, 2}, images{1e-5f, 4};

template <ops::BatchNormAttributes attributes>
struct Norm {
  constexpr auto operator()(const auto& x, const auto& gamma, const auto& beta) const {
    const auto here = std::source_location::current();
    return apply<ops::BatchNorm, attributes>(here, x, apply<ops::BatchNormStatistics, attributes>(here, x), gamma,
                                             beta);
  }
};
struct NormReluResidual {
  constexpr auto operator()(const auto& x, const auto& gamma, const auto& beta) const {
    return ops::relu(ops::add(Norm<images>{}(x, gamma, beta), x));
  }
};

// A window of one pixel changes nothing but the layout: pooling wants blocks of samples.
struct Nchw16n : NormReluResidual {
  constexpr auto operator()(const auto& x, const auto& gamma, const auto& beta) const {
    return NormReluResidual::operator()(ops::max_pool2d<1>(x), gamma, beta);
  }
};
template <class Image>
void check_layouts() {
  for (const long n : {9, 10, 16, 19, 26, 33}) {
    CAPTURE(n);
    const auto x = random_tensor<float, Image>(1, -2, 2, n);
    using Channels = Shape<Image::dims[1]>;
    const auto gamma = random_tensor<float, Channels>(2), beta = random_tensor<float, Channels>(3);
    const auto rows = support::both_modes(NormReluResidual{}, x, gamma, beta),
               blocks = support::both_modes(Nchw16n{}, x, gamma, beta);
    CHECK(support::same_bits(rows.result, blocks.result));
    CHECK(support::same_bits(std::get<0>(rows.gradient), std::get<0>(blocks.gradient)));
    CHECK(support::same_bits(std::get<1>(rows.gradient), std::get<1>(blocks.gradient)));
    CHECK(support::same_bits(std::get<2>(rows.gradient), std::get<2>(blocks.gradient)));
  }
}

template <class T, class S, class G>
void check_values(const Tensor<T, S>& x, const Tensor<G, Shape<S::dims[1]>>& gamma,
                  const Tensor<G, Shape<S::dims[1]>>& beta) {
  const auto y = Norm<ops::BatchNormAttributes{1e-5f, S::rank}>{}(x, gamma, beta);
  constexpr long channels = S::dims[1], spatial = S::dims.span(2, S::rank);
  const long samples = x.extent(0), elements = samples * spatial;
  const auto at = [&](long sample, long c, long i) { return (sample * channels + c) * spatial + i; };
  double worst = 0;
  for (long c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (long s = 0; s < samples; ++s)
      for (long i = 0; i < spatial; ++i) mean += double(x.data()[at(s, c, i)]) / double(elements);
    for (long s = 0; s < samples; ++s)
      for (long i = 0; i < spatial; ++i)
        variance += std::pow(double(x.data()[at(s, c, i)]) - mean, 2) / double(elements);
    for (long s = 0; s < samples; ++s)
      for (long i = 0; i < spatial; ++i) {
        const double expected =
            (double(x.data()[at(s, c, i)]) - mean) / std::sqrt(variance + double(1e-5f)) * gamma.data()[c] +
            beta.data()[c];
        worst = std::fmax(worst, std::fabs(y.data()[at(s, c, i)] - expected));
      }
  }
  CHECK(worst < 5e-6);
}

template <class X, class Gamma>
Sentence error_of(int rank, Dtype x = Dtype::float32) {
  OperandTypes in{{X::dims.with(x)}, 1};
  Sentence error;
  const TensorType statistics = ops::BatchNormStatistics::shape(in, {1e-5f, rank}, error);
  in = {{in[0], statistics, Gamma::dims, Gamma::dims}, 4};
  if (error.empty()) ops::BatchNorm::shape(in, {1e-5f, rank}, error);
  return error;
}

}  // namespace

TEST_CASE("batch_norm: values against a computation in double") {
  check_values(random_tensor<float, Shape<dyn, 3, 5, 7>>(1, -3, 5, 4), random_tensor<float, Shape<3>>(2),
               random_tensor<float, Shape<3>>(3));
  check_values(random_tensor<float, Shape<dyn, 130>>(1, -3, 5, 100), random_tensor<float, Shape<130>>(2),
               random_tensor<float, Shape<130>>(3));
  check_values(random_tensor<float, Shape<dyn, 70, 1, 1>>(1, -3, 5, 9), random_tensor<float, Shape<70>>(2),
               random_tensor<float, Shape<70>>(3));
  check_values(random_tensor<float, Shape<6, 2, 3, 3>>(1, 5, 6), random_tensor<float, Shape<2>>(2),
               random_tensor<float, Shape<2>>(3));
}

TEST_CASE("batch_norm: the statistics are mean and both variances, or moving ones") {
  const auto x = support::tensor_of<float, Shape<dyn, 2>>({1, 10, 2, 20, 3, 60});
  const auto statistics = apply<ops::BatchNormStatistics, rows>({}, x);
  const float expected[]{2, 30, 2.0f / 3, 1400.0f / 3, 1, 700};
  for (int i = 0; i < 6; ++i) CHECK(statistics.data()[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  const auto mean = support::tensor_of<float, Shape<2>>({5, 6}), variance = support::tensor_of<float, Shape<2>>({7, 8});
  const auto frozen = apply<ops::BatchNormStatistics, rows>({}, x, mean, variance, Tensor<float, Shape<>>::full(1));
  CHECK(support::same_bits(frozen, support::tensor_of<float, Shape<3, 2>>({5, 6, 7, 8, -1, -1})));
}

TEST_CASE("batch_norm: one value per channel has no statistics, in rows and in images of one pixel") {
  const auto row = [&](long n) {
    return apply<ops::BatchNormStatistics, rows>({}, Tensor<float, Shape<dyn, 2>>::ones(n));
  };
  const auto pixel = [&](long n) {
    return apply<ops::BatchNormStatistics, images>({}, Tensor<float, Shape<dyn, 2, 1, 1>>::ones(n));
  };
  const auto said = "BatchNorm1d in training needs more than 1 value per channel, got a batch of 1. Use 2 samples or "
                    "more, leave out the rest of the data (batch<N>() does), or evaluate.";
  CHECK_THROWS_WITH_AS((void)row(1), said, ValueError);
  CHECK_THROWS_WITH_AS((void)pixel(1), doctest::Contains("BatchNorm2d in training needs more"), ValueError);
  CHECK_NOTHROW((void)row(2));
  CHECK_NOTHROW((void)pixel(2));
  constexpr auto statistics = [](const auto& x) { return apply<ops::BatchNormStatistics, rows>({}, x); };
  CHECK_THROWS_WITH_AS((void)jit(statistics)(Tensor<float, Shape<dyn, 2>>::ones(1)), said, ValueError);
}

TEST_CASE("batch_norm: gradients in double, with the part that goes through the statistics") {
  support::check_gradients(Norm<images>{}, random_tensor<double, Shape<dyn, 2, 3, 3>>(1),
                           random_tensor<double, Shape<2>>(2), random_tensor<double, Shape<2>>(3));
  support::check_gradients(Norm<rows>{}, random_tensor<double, Shape<dyn, 3>>(4, -2, 2, 6),
                           random_tensor<double, Shape<3>>(5), random_tensor<double, Shape<3>>(6));
  support::check_gradients(Norm<images>{}, random_tensor<double, Shape<4, 3, 1, 1>>(7),
                           random_tensor<double, Shape<3>>(8), random_tensor<double, Shape<3>>(9));
}

TEST_CASE("batch_norm: equal bits in both modes and with four threads, with and without fused steps") {
  const auto check = [](const auto& f, const auto& x, const auto& gamma, const auto& beta) {
    const ContextScope one({.num_threads = 1});
    const auto single = support::both_modes(f, x, gamma, beta);
    const ContextScope four({.num_threads = 4});
    const auto shared = support::both_modes(f, x, gamma, beta);
    CHECK(support::same_bits(single.result, shared.result));
    CHECK(support::same_bits(std::get<0>(single.gradient), std::get<0>(shared.gradient)));
    CHECK(support::same_bits(std::get<1>(single.gradient), std::get<1>(shared.gradient)));
    CHECK(std::get<0>(single.gradient).data()[0] != 0);
  };
  check(NormReluResidual{}, random_tensor<float, Shape<dyn, 6, 9, 9>>(1, -2, 2, 40), random_tensor<float, Shape<6>>(2),
        random_tensor<float, Shape<6>>(3));
  check(Norm<rows>{}, random_tensor<float, Shape<dyn, 130>>(4, -2, 2, 300), random_tensor<float, Shape<130>>(5),
        random_tensor<float, Shape<130>>(6));
}

TEST_CASE("batch_norm: equal bits with images in blocks of samples, statistics and gradients included") {
  check_layouts<Shape<dyn, 5, 3, 7>>();
  check_layouts<Shape<dyn, 70, 1, 1>>();
}

TEST_CASE("batch_norm: what follows element by element runs in its kernel") {
  using Key = detail::KeyFor<Tensor<float, Shape<dyn, 6, 9, 9>>>::type;
  using Channel = detail::KeyFor<Tensor<float, Shape<6>>>::type;
  struct Forward : support::detail::FunctionSource<NormReluResidual, Key, Channel, Channel> {
    static constexpr Builder trace() {
      Builder b;
      using T = Traced<float, Shape<dyn, 6, 9, 9>>;
      const T x(&b, b.leaf(&info<ops::Input>, Key::value, 0));
      using C = Traced<float, Shape<6>>;
      const C gamma(&b, b.leaf(&info<ops::Input>, Channel::value, 1)),
          beta(&b, b.leaf(&info<ops::Input>, Channel::value, 2));
      b.outputs.push_back(NormReluResidual{}(x, gamma, beta).id);
      return b;
    }
  };
  CHECK(Compiled<Forward>::program.instructions == 2);  // statistics, and everything else
  CHECK(Compiled<Forward, no_passes>::program.instructions == 4);
}

TEST_CASE("batch_norm: 16-bit floats beside parameters of float32") {
  const auto wide = random_tensor<float, Shape<dyn, 3, 4, 4>>(1);
  const auto gamma = random_tensor<float, Shape<3>>(2), beta = random_tensor<float, Shape<3>>(3);
  auto x = Tensor<bfloat16, Shape<dyn, 3, 4, 4>>::empty(wide.n());
  auto rounded = wide.copy();
  for (long i = 0; i < wide.count(); ++i) x.data()[i] = bfloat16(wide.data()[i]), rounded.data()[i] = x.data()[i];
  const auto y = support::both_modes(Norm<images>{}, x, gamma, beta).result;
  const auto expected = Norm<images>{}(rounded, gamma, beta);
  for (long i = 0; i < y.count(); ++i) CHECK(y.data()[i].bits == bfloat16(expected.data()[i]).bits);
}

TEST_CASE("batch_norm: bad operands") {
  CHECK((error_of<Shape<dyn, 3, 4, 4>, Shape<3>>(4).empty()));
  CHECK((error_of<Shape<dyn, 3>, Shape<3>>(4).view() == "BatchNorm2d needs an input [n,C,H,W] of rank 4, got [n,3]"));
  CHECK((error_of<Shape<dyn, 3, 4, 4>, Shape<3>>(2).view() ==
         "BatchNorm1d needs an input [n,C] of rank 2, got [n,3,4,4]"));
  CHECK((error_of<Shape<dyn, 3, 4, 4>, Shape<8>>(4).view() ==
         "BatchNorm2d got an input of 3 channels [n,3,4,4], its gamma [8] needs 8"));
  CHECK((error_of<Shape<dyn, 3>, Shape<3>>(2, Dtype::int32).view() ==
         "BatchNorm1d needs a floating-point input, got int32 [n,3]"));
  CHECK((error_of<Shape<dyn, 3>, Shape<3>>(2, Dtype::float64).view() ==
         "BatchNorm1d of float64 needs parameters of float64, got float32"));
  CHECK((error_of<Shape<1, 3, 1, 1>, Shape<3>>(4).view() ==
         "BatchNorm2d in training needs more than 1 value per channel, got [1,3,1,1]"));
}
