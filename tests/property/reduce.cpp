// Reductions at many shapes: against plain loops, gradients and second derivatives against central differences,
// both modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"

using namespace tenon;
using namespace support;

namespace {

// For element i of x, the element of the result (axes of `mask` reduced) to which it belongs.
template <class X>
long kept_index(const X& x, unsigned mask, long i) {
  long kept = 0, stride = 1;
  for (int axis = X::dims.rank; axis-- > 0; i /= x.extent(axis)) {
    if (mask >> axis & 1u) continue;
    kept += i % x.extent(axis) * stride;
    stride *= x.extent(axis);
  }
  return kept;
}
template <class X, class Y, class F>
double worst_error(const X& x, const Y& y, unsigned mask, double start, F combine, double divide_by = 1) {
  std::vector<double> expected(std::size_t(y.count()), start);
  for (long i = 0; i < x.count(); ++i) {
    double& e = expected[std::size_t(kept_index(x, mask, i))];
    e = combine(e, double(x.data()[i]));
  }
  double worst = 0;
  for (long i = 0; i < y.count(); ++i)
    worst = std::fmax(worst, std::fabs(double(y.data()[i]) - expected[std::size_t(i)] / divide_by));
  return worst;
}

template <class S, int... axes>
void check_axes(long n = 3) {
  unsigned mask = sizeof...(axes) ? 0u : (1u << S::rank) - 1;
  ((mask |= 1u << normalized_axis(axes, S::rank)), ...);
  const auto x = random_tensor<double, S>(std::uint64_t(mask) + 99, -2, 2, n);
  const auto sum = [](const auto& v) { return reduce_sum<axes...>(v); };
  const auto mean = [](const auto& v) { return reduce_mean_keep<axes...>(v); };
  const auto max = [](const auto& v) { return reduce_max<axes...>(v); };
  const auto min = [](const auto& v) { return reduce_min_keep<axes...>(v); };
  const auto prod = [](const auto& v) { return reduce_prod<axes...>(v); };
  const auto total = both_modes(sum, x).result;
  CHECK(worst_error(x, total, mask, 0, [](double a, double b) { return a + b; }) < 1e-12);
  CHECK(worst_error(
            x, both_modes(mean, x).result, mask, 0, [](double a, double b) { return a + b; },
            double(x.count()) / double(total.count())) < 1e-12);
  CHECK(worst_error(x, both_modes(max, x).result, mask, -1e300, [](double a, double b) { return std::fmax(a, b); }) ==
        0);
  CHECK(worst_error(x, both_modes(min, x).result, mask, 1e300, [](double a, double b) { return std::fmin(a, b); }) ==
        0);
  CHECK(worst_error(x, both_modes(prod, x).result, mask, 1, [](double a, double b) { return a * b; }) < 1e-9);
  check_gradients(sum, x);
  check_gradients(mean, x);
  check_gradients(max, x);
  check_gradients(min, x);
  check_gradients_within(1e-5, prod, x);
}

}  // namespace

TEST_CASE("reductions over every kind of axis") {
  check_axes<Shape<7>>();
  check_axes<Shape<2, 3, 4>, 0>();
  check_axes<Shape<2, 3, 4>, -1>();
  check_axes<Shape<2, 3, 4>, 0, 2>();
  check_axes<Shape<dyn, 3, 2, 2>, 1, 3>();
  check_axes<Shape<dyn, 2, 2>, 0>(4);
  check_axes<Shape<times<2>, 3>>(2);
}

TEST_CASE("long runs and many columns, where lanes and blocks come in") {
  const auto x = random_tensor<double, Shape<37, 131>>(5);
  const auto add = [](double a, double b) { return a + b; };
  CHECK(worst_error(x, both_modes([](const auto& v) { return reduce_sum<1>(v); }, x).result, 2, 0, add) < 1e-12);
  CHECK(worst_error(x, both_modes([](const auto& v) { return reduce_sum<0>(v); }, x).result, 1, 0, add) < 1e-12);
  CHECK(worst_error(x, both_modes([](const auto& v) { return reduce_max<0>(v); }, x).result, 1, -1e300,
                    [](double a, double b) { return std::fmax(a, b); }) == 0);
}

TEST_CASE("threads and the batch size change no bit") {
  const auto x = random_tensor<float, Shape<dyn, 40, 130>>(3, -5, 5, 64);
  const auto all = [&] {
    return std::tuple{softmax(x),        softmax<1>(x),       log_softmax(x), reduce_sum<1>(x),
                      reduce_sum<-1>(x), reduce_max<1, 2>(x), argmax<1>(x)};
  };
  const auto one = [&] {
    const ContextScope scope({.num_threads = 1});
    return all();
  }();
  for (int threads : {2, 3, 7}) {
    const ContextScope scope({.num_threads = threads});
    const auto many = all();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      CHECK((same_bits(std::get<I>(one), std::get<I>(many)) && ...));
    }(std::make_index_sequence<7>{});
  }
  auto first = Tensor<float, Shape<dyn, 40, 130>>::empty(1);
  std::copy_n(x.data(), first.count(), first.data());
  const auto single = softmax<1>(first), batch = std::get<1>(one);
  CHECK(std::memcmp(single.data(), batch.data(), std::size_t(single.count()) * sizeof(float)) == 0);
}

TEST_CASE("second derivatives of reductions") {
  const auto x = random_tensor<double, Shape<3, 4>>(8);
  check_second_derivatives([](const auto& v) { return reduce_sum<0>(v * v * v); }, x);
  check_second_derivatives([](const auto& v) { return reduce_mean<1>(v * v * v); }, x);
  check_second_derivatives([](const auto& v) { return reduce_max<1>(v * v * v); }, x);
}
