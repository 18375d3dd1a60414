// Normalizations that consist of others: by groups of channels, by instances, of volumes, RMSNorm, LRN, L2Normalize.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("groups of channels: mean 0 and variance 1, then factor and summand of each channel") {
  const auto x = random_tensor<float, Shape<dyn, 6, 3, 4>>(1, 10, 12);
  const auto gamma = random_tensor<float, Shape<6>>(2), beta = random_tensor<float, Shape<6>>(3);
  const auto y = both_modes([](const auto& v, const auto& g,
                               const auto& b) { return group_norm<ops::GroupNormConfig{.groups = 2}>(v, g, b); },
                            x, gamma, beta)
                     .result;
  for (int sample = 0; sample < 3; ++sample)
    for (int group = 0; group < 2; ++group) {
      const float* const own = x.data() + (sample * 2 + group) * 36;
      double mean = 0, variance = 0;
      for (int i = 0; i < 36; ++i) mean += double(own[i]) / 36;
      for (int i = 0; i < 36; ++i) variance += std::pow(double(own[i]) - mean, 2) / 36;
      for (int i = 0; i < 36; ++i) {
        const int channel = group * 3 + i / 12;
        const double wanted = (double(own[i]) - mean) / std::sqrt(variance + 1e-5) * double(gamma.data()[channel]) +
                              double(beta.data()[channel]);
        CHECK(double(y.data()[(sample * 2 + group) * 36 + i]) == doctest::Approx(wanted).epsilon(1e-4));
      }
    }
}

namespace {
// Rows of a group may be longer than a piece of a sum, channels as short as one element, samples missing.
template <class T, class X, int groups, class P = float>
void check_bits_of(long n) {
  constexpr int channels = X::dims[1];
  const auto y = both_modes(
      [](const auto& x, const auto& gamma, const auto& beta) {
        return relu(group_norm<ops::GroupNormConfig{.groups = groups}>(x, gamma, beta));
      },
      random_tensor<T, X>(1, -2, 3, n), random_tensor<P, Shape<channels>>(2, -1, 1),
      random_tensor<P, Shape<channels>>(3, -1, 1));
  CHECK(y.result.n() == n);
}
}  // namespace
TEST_CASE("modes and targets agree on every shape and dtype") {
  check_bits_of<float, Shape<dyn, 6, 23, 31>, 2>(3);
  check_bits_of<float, Shape<dyn, 35>, 5>(4);
  check_bits_of<float, Shape<dyn, 4, 3>, 4>(0);
  check_bits_of<float16, Shape<dyn, 4, 20>, 2>(2);
  check_bits_of<double, Shape<dyn, 2, 1, 9, 2>, 1, double>(2);
}

TEST_CASE("InstanceNorm is GroupNorm with a group per channel; without parameters it only normalizes") {
  const auto x = random_tensor<float, Shape<dyn, 4, 5, 3>>(1);
  CHECK(same_bits(nn::InstanceNorm2d<4>{}(x), nn::GroupNorm<4, 4>{}(x)));
  const nn::GroupNorm<2, 4, nn::GroupNormConfig{.affine = false}> bare;
  CHECK(bare.parameters_dict().size() == 0);
  CHECK(same_bits(bare(x), ops::normalize_groups<ops::GroupNormConfig{.groups = 2}>(x)));
  const auto sequence = random_tensor<float, Shape<dyn, 4, 9>>(1);
  CHECK(nn::InstanceNorm1d<4>{}(sequence).count() == sequence.count());
  const auto said = []<class Cell, class Key>(Cell, Key) {
    return Compiled<tenon::detail::Forward<Cell, Key>>::sentence.view();
  };
  CHECK((said(nn::GroupNorm<2, 6>{}, TypeKey<Dtype::float32, dyn, 4, 5>{}) ==
         "network: a normalization of 6 channels in 2 groups needs a floating-point input [n,6,...] and groups that "
         "divide the channels, got float32 [n,4,5]"));
}

TEST_CASE("BatchNorm3d is BatchNorm2d of images of height D H") {
  const auto x = random_tensor<float, Shape<dyn, 3, 2, 4, 5>>(1);
  const auto image = reshape<Shape<dyn, 3, 8, 5>>(x);
  for (const bool training : {true, false}) {
    const nn::BatchNorm3d<3> volume;
    const nn::BatchNorm2d<3> plane;
    volume.set_train(training), plane.set_train(training);
    eager::Tape tape;
    CHECK(same_bits(reshape<Shape<dyn, 3, 8, 5>>(volume(x)), plane(image)));
    tape.pause();
    for (int c = 0; c < 3; ++c) CHECK(volume.moving_mean.values()[c] == plane.moving_mean.values()[c]);
  }
}

TEST_CASE("LRN: channels within the radius, fewer at the borders") {
  const auto x = random_tensor<float, Shape<dyn, 5, 2, 3>>(1);
  const auto y =
      both_modes(
          [](const auto& v) { return lrn<LRNConfig{.depth_radius = 1, .bias = 2, .alpha = 0.3f, .beta = 0.75f}>(v); },
          x)
          .result;
  for (int c = 0; c < 5; ++c) {
    double sum = 0;
    for (int k = c > 0 ? c - 1 : 0; k <= c + 1 && k < 5; ++k) sum += std::pow(double(x.data()[k * 6 + 4]), 2);
    CHECK(double(y.data()[c * 6 + 4]) == doctest::Approx(double(x.data()[c * 6 + 4]) / std::pow(2 + 0.3 * sum, 0.75)));
  }
  CHECK(lrn<LRNConfig{.depth_radius = 9}>(x).count() == x.count());  // all channels
}

TEST_CASE("L2Normalize: length 1, and no division by 0") {
  const auto x = Tensor<float, Shape<dyn, 2>>::from({3, -4, 0, 0});
  const auto y = both_modes([](const auto& v) { return l2_normalize<1>(v); }, x).result;
  CHECK(y.data()[0] == doctest::Approx(0.6));
  CHECK(y.data()[1] == doctest::Approx(-0.8));
  CHECK((y.data()[2] == 0 && y.data()[3] == 0));
}

TEST_CASE("RMSNorm: the last axes by the root of their mean square; 16-bit floats rounded once") {
  const auto x = random_tensor<float, Shape<dyn, 3, 2, 5>>(1, -3, 5);
  const auto gamma = random_tensor<float, Shape<2, 5>>(2);
  const auto normalize = [](const auto& v, const auto& g) { return rms_norm(v, g, 1e-3f); };
  const auto y = both_modes(normalize, x, gamma).result;
  for (long row = 0; row < x.count() / 10; ++row) {
    double sum = 0;
    for (long i = 0; i < 10; ++i) sum += std::pow(double(x.data()[row * 10 + i]), 2);
    for (long i = 0; i < 10; ++i)
      CHECK(double(y.data()[row * 10 + i]) ==
            doctest::Approx(double(x.data()[row * 10 + i]) / std::sqrt(sum / 10 + 1e-3) * double(gamma.data()[i])));
  }
  const auto half = cast<bfloat16>(x);
  CHECK(
      same_bits(both_modes(normalize, half, gamma).result, cast<bfloat16>(rms_norm(cast<float>(half), gamma, 1e-3f))));
  CHECK(rms_norm(random_tensor<float, Shape<dyn, 2, 5>>(1, -1, 1, 0), gamma).n() == 0);
  nn::RMSNorm<Shape<2, 5>> cell;
  CHECK(same_bits(cell(x), rms_norm(x, Tensor<float, Shape<2, 5>>::ones())));
  const auto said = []<class Cell, class Key>(Cell, Key) {
    return Compiled<tenon::detail::Forward<Cell, Key>>::sentence.view();
  };
  CHECK((said(nn::RMSNorm<Shape<2, 5>>{}, TypeKey<Dtype::float32, dyn, 5>{}) ==
         "network: RMSNorm got an input [n,5], its gamma [2,5] needs the same last axes, of fixed extents"));
  CHECK((said(nn::RMSNorm<Shape<5>>{}, TypeKey<Dtype::int32, dyn, 5>{}) ==
         "network: RMSNorm needs a floating-point input, got int32 [n,5]: cast it"));
}

TEST_CASE("gradients against central differences") {
  const auto x = random_tensor<double, Shape<2, 4, 3, 2>>(4);
  const auto gamma = random_tensor<double, Shape<4>>(5), beta = random_tensor<double, Shape<4>>(6);
  check_gradients([](const auto& v, const auto& g,
                     const auto& b) { return group_norm<ops::GroupNormConfig{.groups = 2}>(v, g, b); },
                  x, gamma, beta);
  check_gradients([](const auto& v) { return lrn<LRNConfig{.depth_radius = 1}>(v); }, x);
  check_gradients([](const auto& v) { return l2_normalize<1, 2>(v); }, x);
}
