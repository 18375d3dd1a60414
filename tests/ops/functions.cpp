// Elementary functions of tenon/more.hpp: both modes, dtypes, derivatives, known values.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

#include <tenon/more.hpp>

using namespace tenon;
using namespace support;

namespace {

/// Both modes in every floating-point dtype, and two derivatives in float64.
template <class F>
void check_function(const F& f, double low, double high) {
  both_modes<SameNumbers>(f, random_tensor<float, Shape<dyn, 5>>(1, low, high, 9));
  both_modes<SameNumbers>(f, random_tensor<float16, Shape<dyn, 5>>(2, low, high, 9));
  both_modes<SameNumbers>(f, random_tensor<bfloat16, Shape<dyn, 5>>(3, low, high, 9));
  const auto x = random_tensor<double, Shape<dyn, 4>>(4, low, high, 4);
  both_modes<SameNumbers>(f, x);
  check_gradients(f, x);
  check_second_derivatives(f, x);
}
template <class F>
void check_pair(const F& f, double low, double high) {
  both_modes<SameNumbers>(f, random_tensor<float, Shape<dyn, 3>>(5, low, high, 7),
                          random_tensor<float, Shape<3>>(6, low, high));
  both_modes<SameNumbers>(f, random_tensor<float16, Shape<dyn, 3>>(7, low, high, 7),
                          random_tensor<float16, Shape<3>>(8, low, high));
  const auto x = random_tensor<double, Shape<dyn, 3>>(9, low, high, 3);
  const auto row = random_tensor<double, Shape<3>>(10, low, high);
  check_gradients(f, x, row);
  check_second_derivatives(f, x, row);
  check_gradients(f, row, x);
}

}  // namespace

TEST_CASE("exponentials and logarithms") {
  check_function([](const auto& x) { return expm1(x); }, -2, 2);
  check_function([](const auto& x) { return exp2(x); }, -2, 2);
  check_function([](const auto& x) { return log1p(x); }, -0.5, 3);
  check_function([](const auto& x) { return log2(x); }, 0.5, 3);
  check_function([](const auto& x) { return log10(x); }, 0.5, 3);
}
TEST_CASE("trigonometric functions") {
  check_function([](const auto& x) { return sin(x); }, -9, 9);
  check_function([](const auto& x) { return cos(x); }, -9, 9);
  check_function([](const auto& x) { return tan(x); }, -1.2, 1.2);
  check_function([](const auto& x) { return asin(x); }, -0.9, 0.9);
  check_function([](const auto& x) { return acos(x); }, -0.9, 0.9);
  check_function([](const auto& x) { return atan(x); }, -3, 3);
  check_pair([](const auto& y, const auto& x) { return atan2(y, x); }, 0.5, 3);
  check_pair([](const auto& y, const auto& x) { return atan2(-y, -x); }, 0.5, 3);
}
TEST_CASE("hyperbolic functions") {
  check_function([](const auto& x) { return sinh(x); }, -2, 2);
  check_function([](const auto& x) { return cosh(x); }, -2, 2);
  check_function([](const auto& x) { return asinh(x); }, -3, 3);
  check_function([](const auto& x) { return acosh(x); }, 1.25, 4);
  check_function([](const auto& x) { return atanh(x); }, -0.9, 0.9);
}
TEST_CASE("error and gamma functions") {
  check_function([](const auto& x) { return erf(x); }, -2, 2);
  check_function([](const auto& x) { return erfc(x); }, -2, 2);
  check_function([](const auto& x) { return lgamma(x); }, 0.5, 5);
  check_function([](const auto& x) { return lgamma(x); }, -2.9, -2.1);
  const auto f = [](const auto& x) { return digamma(x); };
  check_gradients(f, random_tensor<double, Shape<8>>(11, 0.5, 9));
  check_gradients(f, random_tensor<double, Shape<8>>(12, -1.9, -1.1));
  both_modes<SameNumbers>(f, random_tensor<float, Shape<dyn, 5>>(13, -5, 12, 9));
  both_modes<SameNumbers>(f, random_tensor<float16, Shape<dyn, 5>>(14, -5, 12, 9));
  const Tensor x{0.3, 1.46, 5.5, -0.7, -3.2, 20.5, 7.9, 8.1};  // by mpmath
  const double expected[]{-3.50252422220013, -0.00158056198708345, 1.61109314858175, -2.0739527936287,
                          5.63537022117264,  2.99583639470765,     2.00223848756357, 2.02886745708058};
  for (std::size_t i = 0; i < 8; ++i) CHECK(digamma(x).values()[i] == doctest::Approx(expected[i]).epsilon(1e-13));
}
TEST_CASE("remainders, lengths, products with logarithms") {
  check_pair([](const auto& a, const auto& b) { return fmod(a * 3.3, b); }, 0.6, 1.4);
  check_pair([](const auto& a, const auto& b) { return floor_mod(a * 3.3, -b); }, 0.6, 1.4);
  check_pair([](const auto& a, const auto& b) { return hypot(a, b); }, 0.5, 2);
  check_pair([](const auto& a, const auto& b) { return xlogy(a, b); }, 0.5, 2);
}

TEST_CASE("rounding: halves, signs, large numbers, no gradient") {
  const Tensor x{-2.5f, -1.5f, -0.5f, -0.25f, -0.0f, 0.5f, 1.5f, 2.5f, 2.75f, 8388609.0f, -1e30f};
  const auto check = [&](auto f, std::initializer_list<float> expected) {
    const auto outcome = both_modes(f, x);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float y = outcome.result.values()[i];
      CHECK(y == expected.begin()[i]);
      CHECK(std::signbit(y) == std::signbit(expected.begin()[i]));
      CHECK(std::get<0>(outcome.gradient).values()[i] == 0);
    }
  };
  check([](const auto& v) { return floor(v); }, {-3, -2, -1, -1, -0.0f, 0, 1, 2, 2, 8388609.0f, -1e30f});
  check([](const auto& v) { return ceil(v); }, {-2, -1, -0.0f, -0.0f, -0.0f, 1, 2, 3, 3, 8388609.0f, -1e30f});
  check([](const auto& v) { return round(v); }, {-2, -2, -0.0f, -0.0f, -0.0f, 0, 2, 2, 3, 8388609.0f, -1e30f});
  check([](const auto& v) { return trunc(v); }, {-2, -1, -0.0f, -0.0f, -0.0f, 0, 1, 2, 2, 8388609.0f, -1e30f});
  check([](const auto& v) { return sign(v); }, {-1, -1, -1, -1, 0, 1, 1, 1, 1, 1, -1});
  CHECK(same_bits(sign(Tensor{-7, 0, 9}), Tensor{-1, 0, 1}));
  CHECK(same_bits(floor(Tensor{-4503599627370495.5, 0.99}), Tensor{-4503599627370496.0, 0.0}));
}

TEST_CASE("sin, cos, tan, fmod: a block with one unusual operand, in any place, has the bits of single calls") {
  for (const long place : {0L, 7L, 15L, 16L, 40L}) {
    auto x = random_tensor<float, Shape<dyn, 8>>(15, -9, 9, 6);
    x.values()[std::size_t(place)] = 1e7f;
    const auto check = [&](auto f) {
      const auto together = both_modes(f, x).result;
      for (std::size_t i = 0; i < x.values().size(); ++i)
        CHECK(together.values()[i] == f(Tensor<float, Shape<>>::full(x.values()[i])).item());
    };
    check([](const auto& v) { return sin(v); });
    check([](const auto& v) { return cos(v); });
    check([](const auto& v) { return tan(v); });
    check([](const auto& v) { return fmod(v * v, 0.01f); });
    check([](const auto& v) { return floor_mod(v * -v, 0.01f); });
  }
  CHECK(sin(Tensor{1e7f}).item() == doctest::Approx(std::sin(1e7)));
}

TEST_CASE("functions refuse integers") {
  CHECK(refusal<ops::Sin>({}, {Tensor<int, Shape<dyn>>::dims}) ==
        "Sin needs floating-point operands, got int32 [n]: cast it");
}
