// Numbers beside tensors: which dtype results, on which side they may stand, and infix notation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"

#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/floor_div.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

using namespace tenon;
using namespace support;

namespace {
template <class T>
using Row = Tensor<T, Shape<3>>;
template <class T>
Row<T> row(T a, T b, T c) {
  return tensor_of<T, Shape<3>>({a, b, c});
}
template <class X>
using ElementOf = typename X::type;
template <class T, class X>
void check_row(const X& found, T a, T b, T c) {
  static_assert(std::is_same_v<ElementOf<X>, T>, "another dtype was expected");
  CHECK(same_bits(found, row<T>(a, b, c)));
}
}  // namespace

TEST_CASE("a number takes the dtype of the tensor") {
  const auto x = row<float>(1, -2, 4);
  check_row<float>(2 * x, 2, -4, 8);
  check_row<float>(x + 0.5, 1.5f, -1.5f, 4.5f);
  check_row<float>(1 - x, 0, 3, -3);
  check_row<float>(x / 2, 0.5f, -1, 2);
  check_row<float>(8 / x, 8, -4, 2);
  check_row<float>(-x, -1, 2, -4);
  check_row<double>(row<double>(1, 2, 3) * 0.1, 0.1, 0.2, 3 * 0.1);
  check_row<float16>(row<float16>(1.f, 2.f, 3.f) * 2, 2.f, 4.f, 6.f);
  check_row<bfloat16>(1 - row<bfloat16>(1.f, 2.f, 3.f), 0.f, -1.f, -2.f);
  check_row<float>(pow(x, 2), 1, 4, 16);
  check_row<float>(maximum(x, 0), 1, 0, 4);
}

TEST_CASE("integers stay integers beside whole numbers, and become float32 beside fractional ones") {
  const auto i = row<std::int32_t>(1, -2, 7);
  check_row<std::int32_t>(i * 3, 3, -6, 21);
  check_row<std::int32_t>(10 - i, 9, 12, 3);
  check_row<float>(i * 2.5, 2.5f, -5, 17.5f);
  check_row<float>(0.5 + i, 1.5f, -1.5f, 7.5f);
  check_row<float>(row<bool>(true, false, true) * 0.5, 0.5f, 0, 0.5f);
  check_row<std::int8_t>(row<std::int8_t>(100, 1, 2) + 100, static_cast<std::int8_t>(-56), 101, 102);
}

TEST_CASE("/ divides integers as float32, floor_div stays in integers") {
  const auto i = row<std::int32_t>(1, -3, 7);
  check_row<float>(i / 2, 0.5f, -1.5f, 3.5f);
  check_row<float>(6 / i, 6, -2, 6.0f / 7);
  check_row<float>(i / row<std::int32_t>(2, 2, 2), 0.5f, -1.5f, 3.5f);
  check_row<std::int32_t>(floor_div(i, 2), 0, -2, 3);
  check_row<std::int32_t>(floor_div(i, row<std::int32_t>(0, -1, -2)), 0, 3, -4);
}

TEST_CASE("comparisons with numbers, on both sides") {
  const auto x = row<float>(1, 2, 3);
  check_row<bool>(x > 2, false, false, true);
  check_row<bool>(x >= 2, false, true, true);
  check_row<bool>(x < 2, true, false, false);
  check_row<bool>(x <= 2, true, true, false);
  check_row<bool>(x == 2, false, true, false);
  check_row<bool>(x != 2, true, false, true);
  check_row<bool>(2 > x, true, false, false);
  check_row<bool>(2 >= x, true, true, false);
  check_row<bool>(2 < x, false, false, true);
  check_row<bool>(2 <= x, false, true, true);
  check_row<bool>(2 == x, false, true, false);
  check_row<bool>(2 != x, true, false, true);
  check_row<bool>(row<std::int32_t>(1, 2, 3) < 2.5, true, true, false);
}

TEST_CASE("comparisons of tensors of one and of two types") {
  const auto x = row<float>(1, 2, 3), y = row<float>(1, 5, 3);
  const auto z = tensor_of<float, Shape<1, 1>>({2});
  check_row<bool>(x == y, true, false, true);
  check_row<bool>(x != y, false, true, false);
  CHECK(same_bits(x == z, tensor_of<bool, Shape<1, 3>>({false, true, false})));
  CHECK(same_bits(z == x, x == z));
  CHECK(same_bits(x<z, z> x));
}

TEST_CASE("numbers in select") {
  const auto c = row<bool>(true, false, true);
  check_row<float>(select(c, row<float>(1, 2, 3), 0), 1, 0, 3);
  check_row<float>(where(c, -1, row<float>(1, 2, 3)), -1, 2, -1);
  check_row<std::int32_t>(masked_fill(row<std::int32_t>(1, 2, 3), c, 9), 9, 2, 9);
}

TEST_CASE("both modes agree, also where integers become float32") {
  both_modes([](const auto& x) { return (1 - x * 2.5) / 3 + (x > 1.5) * 0.25; },
             random_tensor<std::int32_t, Shape<dyn, 3>>(1, -9, 9));
  both_modes([](const auto& x) { return (2 / x - 1) * -x; }, random_tensor<float, Shape<dyn, 3>>(2, 0.5, 2));
}
