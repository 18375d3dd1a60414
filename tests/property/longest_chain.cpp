// No chain of additions is longer than 256 steps (backend/order.hpp), at operators whose sums are long: a chain that
// begins with 1 loses every further term that is half a unit in its last place; what follows in other chains stays.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
constexpr double half_unit = 0x1p-24;
constexpr long longest = 256;

/// Term `i` of a sum of `n` whose term `first` is 1.
float term(long i, long first) { return i == first ? 1.0f : float(half_unit); }

/// The terms that a sum has lost, as if it had lost nothing else. Each chain that is added rounds by one term at most.
double lost(double sum, long n) { return (1 + double(n - 1) * half_unit - sum) / half_unit; }

/// sum_of(first): a sum of n terms of which number `first` is 1.
template <class Sum>
void check(const std::string& name, long n, Sum sum_of) {
  CAPTURE(name);
  for (const long first : {0L, n / 2 + 3}) {
    CAPTURE(first);
    const double terms = lost(sum_of(first), n);
    CHECK(terms >= -double(n) / 100);
    CHECK(terms < double(longest + n / longest + 16));
  }
}

template <class S>
Tensor<float, S> filled(float value, long n = 1) {
  if constexpr (S::dims.batched()) return Tensor<float, S>::full(value, n);
  else return Tensor<float, S>::full(value);
}
/// The first elements are the terms; of more samples than one the others are zeros.
template <class S>
Tensor<float, S> terms_of(long n, long first, long samples = 1) {
  auto t = filled<S>(0, samples);
  for (long i = 0; i < n; ++i) t.data()[i] = term(i, first);
  return t;
}
/// The derivative of the sum of f(w) times dy.
template <class F, class W, class Dy>
auto derivative(F f, const W& w, const Dy& dy) {
  return grad([&](const auto& value) { return ops::reduce_sum(f(value) * dy); })(w);
}

template <int channels, int kernel, int side>
void check_conv2d(const char* name, long samples) {
  constexpr long n = long(channels) * kernel * kernel;
  using X = Shape<dyn, channels, kernel, kernel>;
  using W = Shape<3, channels, kernel, kernel>;
  check(name, n, [&](long first) {
    auto x = filled<X>(0, samples);
    for (long s = 0; s < samples; ++s)
      for (long i = 0; i < n; ++i) x.data()[s * n + i] = term(i, first);
    return double(ops::conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, filled<W>(1)).data()[3 * samples - 1]);
  });
  // A pixel in the middle of the image meets all taps of all channels of dy, the last tap first.
  using Image = Shape<dyn, 1, side, side>;
  using Weight = Shape<channels, 1, kernel, kernel>;
  check(name, n, [&](long first) {
    const auto weight = terms_of<Weight>(n, first);
    const auto x = filled<Image>(0, samples);
    const auto dx = derivative([&](const auto& v) { return ops::conv2d(v, weight); }, x,
                               filled<Shape<dyn, channels, side, side>>(1, samples));
    return double(dx.data()[(samples - 1) * side * side + side / 2 * side + side / 2]);
  });
}

template <int height, int width, int kernel, int channels, int groups>
void check_weight(const char* name, long samples) {
  constexpr long n = long(height) * width;
  constexpr Conv2dOptions options{.pad_mode = PadMode::same, .groups = groups};
  using X = Shape<dyn, channels, height, width>;
  check(name, n, [&](long first) {
    const auto x = terms_of<X>(n, first, samples);
    const auto w = filled<Shape<groups, channels / groups, kernel, kernel>>(0);
    const auto dw = derivative([&](const auto& v) { return ops::conv2d<options>(x, v); }, w,
                               filled<Shape<dyn, groups, height, width>>(1, samples));
    return double(dw.data()[kernel * kernel / 2]);  // the tap in the middle meets all pixels
  });
}
}  // namespace

TEST_CASE("the measure itself: one chain loses all terms after the 1") {
  constexpr long n = 4096;
  float chain = 0;
  for (long i = 0; i < n; ++i) chain += term(i, 0);
  CHECK(lost(double(chain), n) == n - 1);
}

TEST_CASE("longest chain: sums and means") {
  constexpr int n = 8192;
  check("reduce_sum", n, [](long first) { return double(ops::reduce_sum(terms_of<Shape<n>>(n, first)).item()); });
  check("reduce_sum of rows", n,
        [](long first) { return double(ops::reduce_sum<1>(terms_of<Shape<1, n>>(n, first)).data()[0]); });
  check("reduce_sum of columns", n,
        [](long first) { return double(ops::reduce_sum<0>(terms_of<Shape<dyn, 1>>(n, first, n)).data()[0]); });
  check("reduce_mean", n, [](long first) { return n * double(ops::reduce_mean(terms_of<Shape<n>>(n, first)).item()); });
  check("a bias' gradient", n, [](long first) {
    const auto x = filled<Shape<dyn, 1>>(0, n);
    return double(
        derivative([&](const auto& b) { return x + b; }, filled<Shape<1>>(0), terms_of<Shape<dyn, 1>>(n, first, n))
            .data()[0]);
  });
  for (const long samples : {1L, 16L, 40L})
    check("a bias' gradient, of images", 64 * 64, [&](long first) {
      using Images = Shape<dyn, 1, 64, 64>;
      const auto x = filled<Images>(0, samples);
      return double(derivative([&](const auto& b) { return x + b; }, filled<Shape<1, 1, 1>>(0),
                               terms_of<Images>(64 * 64, first, samples))
                        .data()[0]);
    });
  for (const long samples : {1L, 16L})
    check("avg_pool2d", 64 * 64, [&](long first) {
      return 4096 * double(ops::avg_pool2d<64>(terms_of<Shape<dyn, 1, 64, 64>>(4096, first, samples)).data()[0]);
    });
  check("gather's gradient", n, [](long first) {
    const auto index = Tensor<std::int32_t, Shape<n>>::full(1);
    return double(derivative([&](const auto& table) { return ops::gather(table, index); }, filled<Shape<3, 1>>(0),
                             terms_of<Shape<n, 1>>(n, first))
                      .data()[1]);
  });
}

TEST_CASE("longest chain: products") {
  constexpr int n = 4096;
  check("matmul, a row", n, [](long first) {
    return double(ops::matmul(terms_of<Shape<1, n>>(n, first), filled<Shape<n, 1>>(1)).data()[0]);
  });
  check("matmul", n, [](long first) {
    return double(ops::matmul(terms_of<Shape<9, n>>(n, first), filled<Shape<n, 40>>(1)).data()[0]);
  });
  check("matmul of columns", n, [](long first) {
    return double(
        ops::matmul<Transposed::first>(terms_of<Shape<dyn, 1>>(n, first, n), filled<Shape<dyn, 24>>(1, n)).data()[0]);
  });
}

TEST_CASE("longest chain: convolutions and the gradients for their inputs, in both layouts") {
  for (const long samples : {1L, 16L}) {
    check_conv2d<512, 3, 5>("3x3", samples);
    check_conv2d<200, 5, 9>("5x5", samples);
    check_conv2d<2048, 1, 3>("1x1", samples);
    check_conv2d<100, 7, 9>("7x7", samples);
  }
}

TEST_CASE("longest chain: the gradients for weights, in both layouts") {
  for (const long samples : {1L, 16L}) {
    check_weight<64, 64, 3, 1, 1>("3x3", samples);
    check_weight<64, 64, 1, 1, 1>("1x1", samples);
    check_weight<56, 56, 5, 20, 1>("many planes", samples);
    check_weight<64, 64, 3, 4, 4>("depthwise", samples);
    check_weight<1, 4000, 1, 1, 1>("a long row", samples);
    check_weight<2, 2000, 3, 20, 1>("long rows", samples);
  }
}
