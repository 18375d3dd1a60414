// Convolution at many settings: against six loops, gradients and second derivatives against central differences, both
// modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {

// The definition, with the paddings of MindSpore's modes written out.
template <Conv2dOptions o, class X, class W, class Y>
double worst_error(const X& x, const W& w, const Y& y) {
  const long c = x.extent(1), h = x.extent(2), width = x.extent(3), kh = w.extent(2), kw = w.extent(3),
             oh = y.extent(2), ow = y.extent(3), out = y.extent(1);
  const auto before = [](long size, long window, int stride, int dilation, int given) -> long {
    if (o.pad_mode == PadMode::pad) return given;
    if (o.pad_mode == PadMode::valid) return 0;
    const long total = ((size + stride - 1) / stride - 1) * stride + (window - 1) * dilation + 1 - size;
    return total > 0 ? total / 2 : 0;
  };
  const long top = before(h, kh, o.stride.h, o.dilation.h, o.padding.top),
             left = before(width, kw, o.stride.w, o.dilation.w, o.padding.left);
  const long per_group = c / o.groups, outs = out / o.groups;
  double worst = 0;
  for (long i = 0; i < y.count(); ++i) {
    const long column = i % ow, row = i / ow % oh, channel = i / (ow * oh) % out, sample = i / (ow * oh * out);
    double sum = 0;
    for (long k = 0; k < per_group; ++k)
      for (long a = 0; a < kh; ++a)
        for (long b = 0; b < kw; ++b) {
          const long r = row * o.stride.h - top + a * o.dilation.h, s = column * o.stride.w - left + b * o.dilation.w;
          if (r < 0 || r >= h || s < 0 || s >= width) continue;
          sum += x.data()[((sample * c + channel / outs * per_group + k) * h + r) * width + s] *
                 w.data()[((channel * per_group + k) * kh + a) * kw + b];
        }
    worst = std::fmax(worst, std::fabs(sum - y.data()[i]));
  }
  return worst;
}

template <Conv2dOptions options, class X, class W>
void check_conv(long n = 2) {
  const auto x = random_tensor<double, X>(1, -2, 2, n);
  const auto w = random_tensor<double, W>(2);
  const auto f = [](const auto& image, const auto& weight) { return conv2d<options>(image, weight); };
  const auto y = both_modes(f, x, w).result;
  CHECK(worst_error<options>(x, w, y) < 1e-12);
  check_gradients(f, x, w);
}

// The chains of conv2d.hpp, one step after the other.
template <class X, class W>
std::vector<float> chains_of(const X& x, const W& w) {
  const long c = x.extent(1), h = x.extent(2), width = x.extent(3), out = w.extent(0),
             segment = kernel::conv_segment(c, 9);
  std::vector<float> y;
  for (long i = 0; i < x.extent(0) * out * h * width; ++i) {
    const long column = i % width, row = i / width % h, channel = i / (width * h) % out, sample = i / (width * h * out);
    float sum = 0, chain = 0;
    for (long k = 0; k < c; ++k) {
      if (k % segment == 0) sum = k == 0 ? sum : sum + std::exchange(chain, 0.0f);
      for (long tap = 0; tap < 9; ++tap) {
        const long r = row - 1 + tap / 3, s = column - 1 + tap % 3;
        const bool inside = r >= 0 && r < h && s >= 0 && s < width;
        chain = std::fma(w.data()[(channel * c + k) * 9 + tap],
                         inside ? x.data()[((sample * c + k) * h + r) * width + s] : 0.0f, chain);
      }
    }
    y.push_back(sum + chain + 0.0f);
  }
  return y;
}

}  // namespace

TEST_CASE("conv2d against its definition") {
  check_conv<Conv2dOptions{}, Shape<dyn, 2, 4, 5>, Shape<3, 2, 3, 3>>();
  check_conv<Conv2dOptions{.stride = 2, .dilation = {1, 2}}, Shape<dyn, 1, 5, 6>, Shape<2, 1, 2, 3>>(1);
  check_conv<Conv2dOptions{.stride = {2, 1}, .pad_mode = PadMode::valid}, Shape<2, 2, 5, 4>, Shape<1, 2, 3, 2>>();
  check_conv<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = {1, 0, 2, 1}}, Shape<dyn, 2, 4, 4>,
             Shape<2, 2, 3, 3>>();
  check_conv<Conv2dOptions{.pad_mode = PadMode::valid}, Shape<dyn, 3, 1, 1>, Shape<2, 3, 1, 1>>(3);
}

TEST_CASE("planes of zeros before and after all others: the bits of the whole chains, NaN where a weight is infinite") {
  const auto check = []<int channels>(std::integral_constant<int, channels>, long before, long after) {
    auto x = random_tensor<float, Shape<dyn, channels, 9, 17>>(1, -2, 2, 2);
    auto w = random_tensor<float, Shape<5, channels, 3, 3>>(2);
    for (long k = 0; k < channels; ++k)  // of the first sample
      if (k < before || k >= channels - after)
        for (long i = 0; i < 9 * 17; ++i) x.data()[k * 9 * 17 + i] = k % 2 ? -0.0f : 0.0f;
    for (const long infinite : {-1L, 0L, channels * 9L - 1, (channels - after) * 9 * 2 - 7}) {
      if (infinite >= 0) w.data()[infinite] = std::numeric_limits<float>::infinity();
      const auto f = [](const auto& image, const auto& weight) { return conv2d(image, weight); };
      const auto y = infinite < 0 ? both_modes(f, x, w).result : f(x, w);  // a NaN may have other bits elsewhere
      const auto want = chains_of(x, w);
      for (long i = 0; i < y.count(); ++i) {
        const float own = y.data()[i], other = want[std::size_t(i)];
        CHECK_UNARY((std::isnan(own) && std::isnan(other)) ||
                    std::bit_cast<std::uint32_t>(own) == std::bit_cast<std::uint32_t>(other));
      }
    }
  };
  check(std::integral_constant<int, 6>(), 2, 1);
  check(std::integral_constant<int, 6>(), 6, 0);
  check(std::integral_constant<int, 60>(), 31, 5);  // segments of 20
}

TEST_CASE("groups, down to one channel each") {
  check_conv<Conv2dOptions{.groups = 2}, Shape<dyn, 4, 3, 3>, Shape<2, 2, 3, 3>>();
  check_conv<Conv2dOptions{.stride = 2, .groups = 3}, Shape<dyn, 3, 4, 4>, Shape<6, 1, 3, 3>>();
}

TEST_CASE("an epilogue changes no bit") {
  const auto x = random_tensor<float, Shape<dyn, 3, 9, 9>>(3, -2, 2, 5);
  const auto w = random_tensor<float, Shape<8, 3, 3, 3>>(4);
  both_modes([](const auto& image, const auto& weight,
                const auto& bias) { return relu(conv2d<Conv2dOptions{}>(image, weight) + bias); },
             x, w, random_tensor<float, Shape<8, 1, 1>>(5));
}

namespace {
// A convolution that only a maximum over windows reads.
struct Pooling {
  template <int... E>
  static void check(const auto& f, long n, auto weight, auto bias) {
    const auto x = random_tensor<float, Shape<dyn, E...>>(3, -2, 2, n);
    using Source = tenon::detail::FunctionGraph<std::remove_cvref_t<decltype(f)>, TypeKey<Dtype::float32, dyn, E...>,
                                                typename tenon::detail::KeyFor<decltype(weight)>::type,
                                                typename tenon::detail::KeyFor<decltype(bias)>::type>;
    using Graph = Compiled<Source>;
    const auto eager = f(x, weight, bias);
    for (int threads : {1, 2, 3}) {
      const ContextScope scope({.num_threads = threads});
      Executor executor(Graph::program);
      const void* const inputs[]{x.data(), weight.data(), bias.data()};
      executor.run(inputs, n);
      CHECK(std::memcmp(executor.output(0), eager.data(), std::size_t(eager.count()) * sizeof(float)) == 0);
    }
  }
};
}  // namespace

TEST_CASE("a maximum over windows after a convolution has the same bits on any number of threads, for any batch") {
  for (long n : {1, 3, 15, 16, 17, 40}) {
    CAPTURE(n);
    Pooling::check<3, 12, 13>([](const auto& x, const auto& w,
                                 const auto& b) { return max_pool2d<2>(relu(conv2d<Conv2dOptions{}>(x, w) + b)); },
                              n, random_tensor<float, Shape<5, 3, 3, 3>>(4), random_tensor<float, Shape<5, 1, 1>>(5));
    Pooling::check<2, 14, 14>(
        [](const auto& x, const auto& w, const auto& b) {
          return max_pool2d<2>(conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, w) * b + b);
        },
        n, random_tensor<float, Shape<32, 2, 5, 5>>(4), random_tensor<float, Shape<32, 1, 1>>(5));
  }
}

TEST_CASE("gradients from lists of argmaxes have all bits of those from whole images") {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return max_pool2d<2>(relu(conv2d<Conv2dOptions{}>(x, w) + b));
  };
  using Source =
      support::detail::FunctionSource<std::remove_cvref_t<decltype(f)>, TypeKey<Dtype::float32, dyn, 6, 12, 13>,
                                      TypeKey<Dtype::float32, 16, 6, 3, 3>, TypeKey<Dtype::float32, 16, 1, 1>>;
  constexpr auto& graph = Compiled<Source>::graph;
  static_assert(support::has<ops::MaxPoolList>(graph) && !support::has<ops::MaxPool2dGrad>(graph));
  for (long n : {1, 3, 16, 17, 40}) {
    CAPTURE(n);
    both_modes(f, random_tensor<float, Shape<dyn, 6, 12, 13>>(3, -2, 2, n), random_tensor<float, Shape<16, 6, 3, 3>>(4),
               random_tensor<float, Shape<16, 1, 1>>(5));
    // pixels that are no whole vectors
    both_modes(f, random_tensor<float, Shape<dyn, 2, 9, 6>>(3, -2, 2, n), random_tensor<float, Shape<5, 2, 3, 3>>(4),
               random_tensor<float, Shape<5, 1, 1>>(5));
  }
}

TEST_CASE("a NaN is the maximum of its window and takes the gradient, in a list or not") {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return max_pool2d<2>(relu(conv2d<Conv2dOptions{}>(x, w) + b));
  };
  for (const long at : {0, 1, 13, 14, 100}) {  // each place of a window
    CAPTURE(at);
    auto x = random_tensor<float, Shape<dyn, 6, 12, 13>>(3, -2, 2, 17);
    x.data()[at] = std::nanf("");
    const auto [y, gradient] = both_modes<SameNumbers>(f, x, random_tensor<float, Shape<16, 6, 3, 3>>(4),
                                                       random_tensor<float, Shape<16, 1, 1>>(5));
    CHECK(std::isnan(y.data()[at / 13 / 2 * 6 + at % 13 / 2]));
    const auto& of_weight = std::get<1>(gradient);
    long unknown = 0;
    for (long i = 0; i < of_weight.count(); ++i) unknown += std::isnan(of_weight.data()[i]);
    CHECK(unknown >= 16);
  }
}

TEST_CASE("second derivatives") {
  const auto twice = [](const auto& x, const auto& w) {  // cubic in x, so that no second derivative is zero
    const auto y = conv2d<Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = 1}>(x, w);
    return y * y * y;
  };
  check_second_derivatives(twice, random_tensor<double, Shape<dyn, 2, 3, 4>>(1, -1, 1, 2),
                           random_tensor<double, Shape<2, 2, 3, 2>>(2, -1, 1));
}

TEST_CASE("threads and the batch size change no bit") {
  const auto x = random_tensor<float, Shape<dyn, 8, 14, 14>>(3, -2, 2, 6);
  const auto w = random_tensor<float, Shape<16, 8, 3, 3>>(4);
  const auto run = [&](int threads, const auto& image) {
    const ContextScope scope({.num_threads = threads});
    eager::Tape tape;
    tape.watch(image);
    tape.watch(w);
    const auto y = conv2d<Conv2dOptions{}>(image, w);
    tape.backward(y, y);
    return std::tuple{y, tape.gradient(image), tape.gradient(w)};
  };
  const auto [y, dx, dw] = run(1, x);
  for (int threads : {2, 5}) {
    const auto [y2, dx2, dw2] = run(threads, x);
    CHECK(same_bits(y, y2));
    CHECK(same_bits(dx, dx2));
    CHECK(same_bits(dw, dw2));
  }
  auto last = Tensor<float, Shape<dyn, 8, 14, 14>>::empty(1);
  std::copy_n(x.data() + 5 * last.count(), last.count(), last.data());
  const auto [y1, dx1, dw1] = run(1, last);
  CHECK(std::memcmp(y1.data(), y.data() + 5 * y1.count(), std::size_t(y1.count()) * sizeof(float)) == 0);
  CHECK(std::memcmp(dx1.data(), dx.data() + 5 * dx1.count(), std::size_t(dx1.count()) * sizeof(float)) == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Conv2d;
  const auto check = [](auto x, auto w, Conv2dOptions o = {}) {
    const TensorType image = type_of<float, decltype(x)>, weight = type_of<float, decltype(w)>;
    return refusal<Conv2d>(Conv2d::config(o, image, weight), {image, weight});
  };
  CHECK(check(Shape<dyn, 3, 28, 28>{}, Shape<6, 1, 5, 5>{}) ==
        "Conv2d got an input of 3 channels [n,3,28,28], its weight [6,1,5,5] needs 1");
  CHECK(check(Shape<dyn, 784>{}, Shape<6, 1, 5, 5>{}) == "Conv2d needs an input [n,C,H,W] of rank 4, got [n,784]");
  CHECK(check(Shape<dyn, 1, 3, 3>{}, Shape<6, 1, 5, 5>{}, {.pad_mode = PadMode::valid}) ==
        "Conv2d got an input [n,1,3,3] smaller than its kernel [6,1,5,5]");
  CHECK(check(Shape<dyn, 4, 9, 9>{}, Shape<3, 2, 3, 3>{}, {.groups = 2}) ==
        "Conv2d cannot divide 3 output channels in 2 groups");
}
