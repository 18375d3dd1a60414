// Transposed convolutions, and convolutions of volumes, against their definitions.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"

using namespace tenon;
using namespace support;

namespace {
// One axis: a position of the convolution's input for each position of its result and each tap.
struct Axis {
  long in, out, kernel, stride, dilation, before;
};
// y [n, O, ...] of x [n, C, ...]: `transposed` scatters with weight [C, O/g, ...], else gathers with [O, C/g, ...].
template <class X, class W>
std::vector<double> convolved(const X& x, const W& w, long out, int groups, bool transposed, Axis d, Axis h, Axis v) {
  const long n = x.n(), in = X::dims[1], in_group = in / groups, out_group = out / groups;
  std::vector<double> y(std::size_t(n * out * d.out * h.out * v.out));
  for (long s = 0; s < n; ++s)
    for (long o = 0; o < out; ++o)
      for (long c = o / out_group * in_group; c < (o / out_group + 1) * in_group; ++c)
        for (long i = 0; i < (transposed ? d.in : d.out); ++i)
          for (long j = 0; j < (transposed ? h.in : h.out); ++j)
            for (long k = 0; k < (transposed ? v.in : v.out); ++k)
              for (long a = 0; a < d.kernel; ++a)
                for (long b = 0; b < h.kernel; ++b)
                  for (long e = 0; e < v.kernel; ++e) {
                    const long p = i * d.stride + a * d.dilation - d.before,
                               q = j * h.stride + b * h.dilation - h.before,
                               r = k * v.stride + e * v.dilation - v.before;
                    const long depth = transposed ? d.out : d.in, height = transposed ? h.out : h.in,
                               width = transposed ? v.out : v.in;
                    if (p < 0 || q < 0 || r < 0 || p >= depth || q >= height || r >= width) continue;
                    const long big = (p * height + q) * width + r,
                               small = transposed ? (i * h.in + j) * v.in + k : (i * h.out + j) * v.out + k;
                    const long first = transposed ? c * out_group + o % out_group : o * in_group + c % in_group;
                    const double weight = double(w.data()[((first * d.kernel + a) * h.kernel + b) * v.kernel + e]);
                    const long from = (s * in + c) * (d.in * h.in * v.in) + (transposed ? small : big),
                               to = (s * out + o) * (d.out * h.out * v.out) + (transposed ? big : small);
                    y[std::size_t(to)] += double(x.data()[from]) * weight;
                  }
  return y;
}
template <class Y>
void check_values(const Y& y, const std::vector<double>& wanted) {
  REQUIRE(y.count() == long(wanted.size()));
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) worst = std::fmax(worst, std::fabs(double(y.data()[i]) - wanted[i]));
  CHECK(worst < 1e-4);
}
constexpr Axis flat{1, 1, 1, 1, 1, 0};
}  // namespace

TEST_CASE("conv2d_transpose: strides, padding, output_padding, dilation, groups") {
  const auto x = random_tensor<float, Shape<dyn, 4, 5, 3>>(1);
  const auto w = random_tensor<float, Shape<4, 3, 3, 2>>(2);
  const auto y = both_modes(
                     [](const auto& v, const auto& k) {
                       return conv2d_transpose<Conv2dTransposeOptions{.stride = Pair(2, 3),
                                                                      .pad_mode = PadMode::pad,
                                                                      .padding = Padding(1, 2, 0, 1),
                                                                      .output_padding = Pair(1, 2),
                                                                      .dilation = Pair(2, 1),
                                                                      .groups = 2}>(v, k);
                     },
                     x, w)
                     .result;
  static_assert(decltype(y)::dims[2] == 4 * 2 + 5 - 3 + 1 && decltype(y)::dims[3] == 2 * 3 + 2 - 1 + 2);
  check_values(y, convolved(x, w, 6, 2, true, flat, {5, 11, 3, 2, 2, 1}, {3, 9, 2, 3, 1, 0}));
  const auto same = both_modes(
      [](const auto& v, const auto& k) { return conv2d_transpose<Conv2dTransposeOptions{.stride = 2}>(v, k); }, x, w);
  check_values(same.result, convolved(x, w, 3, 1, true, flat, {5, 10, 3, 2, 1, 0}, {3, 6, 2, 2, 1, 0}));
  const auto wide = conv2d_transpose<Conv2dTransposeOptions{.stride = 4, .pad_mode = PadMode::valid}>(x, w);
  check_values(wide, convolved(x, w, 3, 1, true, flat, {5, 20, 3, 4, 1, 0}, {3, 12, 2, 4, 1, 0}));
}

TEST_CASE("conv1d_transpose: sequences as images of height 1") {
  const auto x = random_tensor<float, Shape<dyn, 4, 5>>(1);
  const auto w = random_tensor<float, Shape<4, 2, 1, 3>>(2);
  const auto y = both_modes(
                     [](const auto& v, const auto& k) {
                       return conv1d_transpose<Conv1dTransposeOptions{
                           .stride = 2, .pad_mode = PadMode::pad, .padding = 1, .output_padding = 1}>(v, k);
                     },
                     x, w)
                     .result;
  check_values(y, convolved(x, w, 2, 1, true, flat, flat, {5, 10, 3, 2, 1, 1}));
}

TEST_CASE("conv3d: same, strides and dilation in depth, groups, deep kernels") {
  const auto x = random_tensor<float, Shape<dyn, 4, 7, 4, 5>>(1, -2, 2, 2);
  const auto w = random_tensor<float, Shape<6, 4, 2, 3, 3>>(2);
  const auto y = both_modes([](const auto& v, const auto& k) { return conv3d(v, k); }, x, w).result;
  check_values(y, convolved(x, w, 6, 1, false, {7, 7, 2, 1, 1, 0}, {4, 4, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}));
  const auto w2 = random_tensor<float, Shape<2, 2, 3, 1, 2>>(3);
  const auto z = both_modes(
                     [](const auto& v, const auto& k) {
                       return conv3d<Conv3dOptions{.stride = Triple(2, 1, 2),
                                                   .pad_mode = PadMode::pad,
                                                   .padding = Padding3d(2, 1, 0, 0, 1, 0),
                                                   .dilation = Triple(2, 1, 1),
                                                   .groups = 2}>(v, k);
                     },
                     x, w2)
                     .result;
  check_values(z, convolved(x, w2, 2, 2, false, {7, 3, 3, 2, 2, 2}, {4, 4, 1, 1, 1, 0}, {5, 3, 2, 2, 1, 1}));
}

TEST_CASE("conv3d_transpose: what the gradient of conv3d computes") {
  const auto x = random_tensor<float, Shape<dyn, 4, 3, 2, 4>>(1, -2, 2, 2);
  const auto w = random_tensor<float, Shape<4, 3, 3, 2, 1>>(2);
  const auto y = both_modes(
                     [](const auto& v, const auto& k) {
                       return conv3d_transpose<Conv3dTransposeOptions{.stride = Triple(2, 1, 2),
                                                                      .pad_mode = PadMode::pad,
                                                                      .padding = Padding3d(1, 2, 0, 0, 0, 0),
                                                                      .output_padding = Triple(1, 0, 0),
                                                                      .groups = 2}>(v, k);
                     },
                     x, w)
                     .result;
  check_values(y, convolved(x, w, 6, 2, true, {3, 5, 3, 2, 1, 1}, {2, 3, 2, 1, 1, 0}, {4, 7, 1, 2, 1, 0}));
  const auto valid = conv3d_transpose<Conv3dTransposeOptions{.stride = 4, .pad_mode = PadMode::valid}>(x, w);
  check_values(valid, convolved(x, w, 3, 1, true, {3, 12, 3, 4, 1, 0}, {2, 8, 2, 4, 1, 0}, {4, 16, 1, 4, 1, 0}));
}

TEST_CASE("gradients against central differences, first and second") {
  const auto x = random_tensor<double, Shape<2, 2, 3, 2>>(1);
  const auto w = random_tensor<double, Shape<2, 3, 2, 3>>(2);
  const auto f = [](const auto& v, const auto& k) {
    return conv2d_transpose<Conv2dTransposeOptions{.stride = 2, .pad_mode = PadMode::valid}>(v, k);
  };
  check_gradients(f, x, w);
  check_second_derivatives(
      [](const auto& v, const auto& k) { return square(conv2d_transpose<Conv2dTransposeOptions{.stride = 2}>(v, k)); },
      x, w);
  const auto volume = random_tensor<double, Shape<1, 2, 3, 2, 3>>(3);
  const auto kernel = random_tensor<double, Shape<2, 2, 2, 2, 2>>(4);
  check_gradients([](const auto& v, const auto& k) { return conv3d(v, k); }, volume, kernel);
  check_gradients(
      [](const auto& v, const auto& k) { return conv3d_transpose<Conv3dTransposeOptions{.stride = 2}>(v, k); }, volume,
      kernel);
}

TEST_CASE("what does not fit is one sentence") {
  const auto said = []<class Cell, class Key>(Cell, Key) {
    return Compiled<tenon::detail::Forward<Cell, Key>>::sentence.view();
  };
  CHECK((said(nn::Conv2dTranspose<3, 4, 2>{}, TypeKey<Dtype::float32, dyn, 4, 5, 5>{}) ==
         "network: Conv2dTranspose got an input of 4 channels [n,4,5,5], its weight [3,4,2,2] needs 3, a multiple of "
         "its 1 groups"));
  CHECK((said(nn::Conv2dTranspose<3, 4, 2>{}, TypeKey<Dtype::float64, dyn, 3, 5, 5>{}) ==
         "network: Conv2dTranspose needs an input and a weight of one floating-point dtype, got float64 and float32"));
  CHECK((said(nn::Conv3d<3, 4, 2>{}, TypeKey<Dtype::float32, dyn, 3, 5, 5>{}) ==
         "network: Conv3d needs an input [n,3,D,H,W] and groups that divide the channels, got [n,3,5,5] for its weight "
         "[4,3,2,2,2] and 1 groups"));
  CHECK((said(nn::Conv3d<3, 4, 6, nn::Conv3dConfig{.pad_mode = PadMode::valid}>{},
              TypeKey<Dtype::float32, dyn, 3, 5, 9, 9>{}) ==
         "network: Conv3d got an input [n,3,5,9,9] smaller than its kernel [4,3,6,6,6]"));
}
