// Reductions that consist of others: variance, standard deviation, logsumexp, norms, all, any.
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
// Sum of squared deviations of a column of [rows, columns], in double.
double squares(const Tensor<float, Shape<dyn, 3>>& x, long column) {
  const long rows = x.n();
  double mean = 0, sum = 0;
  for (long i = 0; i < rows; ++i) mean += double(x.data()[i * 3 + column]) / double(rows);
  for (long i = 0; i < rows; ++i) sum += std::pow(double(x.data()[i * 3 + column]) - mean, 2);
  return sum;
}
template <class Y>
bool all_nan(const Y& y) {
  for (const auto v : y.values())
    if (v == v) return false;
  return true;
}
}  // namespace

TEST_CASE("variance over a leading extent that depends on n, far from 0, with both divisors") {
  auto x = random_tensor<float, Shape<dyn, 3>>(3, 1000, 1001, 37);
  const auto unbiased = both_modes([](const auto& v) { return reduce_var<0>(v); }, x).result;
  const auto biased = both_modes([](const auto& v) { return reduce_var_keep<0>(v, {.ddof = 0}); }, x).result;
  static_assert(std::is_same_v<decltype(biased), const Tensor<float, Shape<1, 3>>>);
  for (int c = 0; c < 3; ++c) {
    CHECK(unbiased.data()[c] == doctest::Approx(squares(x, c) / 36).epsilon(1e-4));
    CHECK(biased.data()[c] == doctest::Approx(squares(x, c) / 37).epsilon(1e-4));
  }
  const auto one = random_tensor<float, Shape<dyn, 3>>(3, -1, 1, 1);
  CHECK(all_nan(reduce_var<0>(one)));
  CHECK(reduce_var<0>(one, {.ddof = 0}).data()[1] == 0);
}

TEST_CASE("standard deviation of equal elements is 0, and so is its gradient") {
  const auto x = Tensor<float, Shape<2, 4>>::full(3);
  const auto y = both_modes([](const auto& v) { return reduce_std<1>(v); }, x);
  CHECK(same_bits(y.result, Tensor<float, Shape<2>>::full(0)));
  CHECK(same_bits(std::get<0>(y.gradient), Tensor<float, Shape<2, 4>>::full(0)));
}

TEST_CASE("16-bit floats are computed in float32: no square overflows") {
  const auto x =
      Tensor<float16, Shape<4>>::from({float16(500.0f), float16(-500.0f), float16(500.0f), float16(-500.0f)});
  CHECK(float(reduce_std<0>(x, {.ddof = 0}).item()) == 500.0f);
}

TEST_CASE("logsumexp: large numbers, infinities, and NaN as in PyTorch") {
  const float inf = INFINITY;
  const auto x = tensor_of<float, Shape<5, 3>>({1000, 1000, 1000, inf, 1, 2, -inf, -inf, -inf, -inf, 1, 2, NAN, 1, 2});
  const auto y = both_modes<SameNumbers>([](const auto& v) { return logsumexp<1>(v); }, x);
  CHECK(y.result.data()[0] == doctest::Approx(1000 + std::log(3.0)));
  CHECK(y.result.data()[1] == inf);
  CHECK(y.result.data()[2] == -inf);
  CHECK(y.result.data()[3] == doctest::Approx(2.3132617));
  CHECK(std::isnan(y.result.data()[4]));
}

TEST_CASE("norms: Euclidean, absolute sum, largest; 0 has the gradient 0") {
  const auto x = tensor_of<float, Shape<dyn, 2>>({3, -4, 0, 0, -5, 12});
  const auto two = both_modes([](const auto& v) { return norm<1>(v); }, x);
  CHECK(same_bits(two.result, tensor_of<float, Shape<dyn>>({5, 0, 13})));
  CHECK(std::get<0>(two.gradient).data()[2] == 0);
  CHECK(same_bits(both_modes([](const auto& v) { return l1_norm<1>(v); }, x).result,
                  tensor_of<float, Shape<dyn>>({7, 0, 17})));
  CHECK(same_bits(both_modes([](const auto& v) { return max_norm_keep<1>(v); }, x).result,
                  tensor_of<float, Shape<dyn, 1>>({4, 0, 12})));
}

TEST_CASE("all and any: of bool, and of numbers that differ from 0") {
  const auto x = tensor_of<std::int32_t, Shape<dyn, 2>>({1, -2, 0, 3, 0, 0});
  CHECK(same_bits(both_modes([](const auto& v) { return reduce_all<1>(v); }, x).result,
                  tensor_of<bool, Shape<dyn>>({true, false, false})));
  CHECK(same_bits(both_modes([](const auto& v) { return reduce_any<1>(v); }, x).result,
                  tensor_of<bool, Shape<dyn>>({true, true, false})));
  CHECK(reduce_any_keep(x > 2).item());
  CHECK_FALSE(reduce_all_keep(x > 2).item());
}

TEST_CASE("gradients against central differences, first and second") {
  const auto x = random_tensor<double, Shape<3, 4>>(1, 0.5, 2);
  check_gradients([](const auto& v) { return reduce_var<0>(v); }, x);
  check_gradients([](const auto& v) { return reduce_std(v); }, x);
  check_gradients([](const auto& v) { return logsumexp<0, 1>(v); }, x);
  check_gradients([](const auto& v) { return norm<1>(v); }, x);
  check_gradients([](const auto& v) { return l1_norm<1>(v); }, x);
  check_gradients([](const auto& v) { return max_norm<0>(v); }, x);
  check_second_derivatives([](const auto& v) { return reduce_std<1>(v); }, x);
  check_second_derivatives([](const auto& v) { return logsumexp<1>(v); }, x);
}
