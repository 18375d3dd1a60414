// flags: -O0
// Tensors without elements, because an extent is 0: results are those of the empty sum, product, or maximum, in both
// modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/more.hpp>
#include <tenon/ops/ops.hpp>

#include "../support/both_modes.hpp"

using namespace support;
using namespace tenon;

namespace {
const auto rows = Tensor<float, Shape<dyn, 0>>::full(1, 2);
const auto lists = Tensor<float, Shape<dyn, 3, 0>>::full(1, 2);  // of each sample three
const auto none = Tensor<float, Shape<dyn, 0, 3>>::full(1, 2);   // of each sample no row
const auto weight = Tensor<float, Shape<0>>::full(1);
const auto matrices = Tensor<float, Shape<dyn, 0, 0>>::full(1, 2);

/// The results are `count` times `expected`, and the gradients are there.
template <class F, class... X>
void check_each(float expected, int count, const F& f, const X&... x) {
  const auto values = both_modes(f, x...).result;
  CHECK(int(values.values().size()) == count);
  for (const auto v : values.values()) CHECK((std::isnan(expected) ? std::isnan(float(v)) : float(v) == expected));
}
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("no elements: reductions are those of an empty list") {
  check_each(0, 2, [](const auto& x) { return reduce_sum<1>(x); }, rows);
  check_each(0, 6, [](const auto& x) { return reduce_sum<2>(x); }, lists);
  check_each(0, 6, [](const auto& x) { return reduce_sum<1>(x); }, none);
  check_each(0, 0, [](const auto& x) { return reduce_sum<1>(x); }, lists);
  check_each(0, 2, [](const auto& x) { return reduce_sum_square<1>(x); }, rows);
  check_each(1, 2, [](const auto& x) { return reduce_prod<1>(x); }, rows);
  check_each(not_a_number, 6, [](const auto& x) { return reduce_mean<2>(x); }, lists);
  check_each(not_a_number, 2, [](const auto& x) { return reduce_var<1>(x); }, rows);
  check_each(-infinity, 2, [](const auto& x) { return reduce_max<1>(x); }, rows);
  check_each(infinity, 6, [](const auto& x) { return reduce_min<2>(x); }, lists);
  check_each(-infinity, 2, [](const auto& x) { return logsumexp<1>(x); }, rows);
  check_each(0, 2, [](const auto& x) { return norm<1>(x); }, rows);
  check_each(1, 2, [](const auto& x) { return reduce_all<1>(x < x); }, rows);
}

TEST_CASE("no elements: the index along an empty axis is 0, as that of an empty batch") {
  check_each(0, 2, [](const auto& x) { return argmax<1>(x); }, rows);
  check_each(0, 6, [](const auto& x) { return argmin<2>(x); }, lists);
  check_each(0, 6, [](const auto& x) { return argmax<1>(x); }, none);
  check_each(0, 0, [](const auto& x) { return argmax<1>(x); }, lists);
}

TEST_CASE("no elements: what works along an axis has none either") {
  check_each(0, 0, [](const auto& x) { return softmax(x); }, lists);
  check_each(0, 0, [](const auto& x) { return log_softmax(x); }, rows);
  check_each(0, 0, [](const auto& x, const auto& w) { return layer_norm(x, w, w); }, rows, weight);
  check_each(0, 0, [](const auto& x) { return l2_normalize<1>(x); }, rows);
  check_each(0, 2, [](const auto& x, const auto& y) { return softmax_cross_entropy(x, y); }, rows, rows);
  check_each(0, 0, [](const auto& x) { return cumsum<1>(x) + flip<1>(x); }, rows);
  check_each(0, 0, [](const auto& x) { return tril(x); }, lists);
  check_each(0, 0, [](const auto& x) { return tile<1, 3>(x); }, rows);
  check_each(0, 0, [](const auto& x) { return transpose<0, 2, 1>(x) * 2.0f; }, lists);
  check_each(
      1, 4, [](const auto& x, const auto& y) { return concat<1>(x, y); }, rows,
      Tensor<float, Shape<dyn, 2>>::full(1, 2));
  check_each(0, 0, [](const auto& x) { return reduce_mean<1>(x); }, lists);
}

TEST_CASE("no elements: broadcasting and matrices") {
  const auto one = Tensor<float, Shape<dyn, 3, 1>>::full(1, 2);
  check_each(0, 0, [](const auto& x, const auto& y) { return relu(x + y) * y; }, lists, one);
  check_each(0, 0, [](const auto& x, const auto& y) { return outer(x, y); }, weight, weight);
  const auto five = Tensor<float, Shape<0, 5>>::full(1);
  check_each(0, 10, [](const auto& x, const auto& y) { return matmul(x, y); }, rows, five);
  check_each(0, 18, [](const auto& x, const auto& y) { return matmul(x, y); }, lists, none);
  check_each(
      0, 0, [](const auto& x, const auto& y) { return matmul(x, y); }, none, Tensor<float, Shape<3, 5>>::full(1));
  check_each(1, 2, [](const auto& x) { return det(x); }, matrices);
  check_each(0, 0, [](const auto& x) { return inverse(x); }, matrices);
  check_each(0, 0, [](const auto& x) { return cholesky(x); }, matrices);
}
