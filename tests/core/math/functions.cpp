// Functions in float32 against the C library in float64, over a sample of all 2^32 arguments: error in units of the
// last place, signs of zeros, infinities, NaN. A sample of every 13th argument keeps the bounds.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <tenon/core/math/division.hpp>
#include <tenon/core/math/error_function.hpp>
#include <tenon/core/math/exponential.hpp>
#include <tenon/core/math/gamma.hpp>
#include <tenon/core/math/hyperbolic.hpp>
#include <tenon/core/math/logarithm.hpp>
#include <tenon/core/math/rounding.hpp>
#include <tenon/core/math/trigonometric.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {

constexpr double smallest = 0x1p-126, largest = std::numeric_limits<float>::max();

/// The error of y in ulp; infinite if it is no number, infinite, or signed where the exact result is not. Results that
/// are denormal in float may be 0.
double error_of(float y, double exact) {
  const double size = std::fabs(exact);
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : INFINITY;
  if (size > smallest && std::signbit(y) != std::signbit(exact)) return INFINITY;
  if (size > largest) return std::isinf(y) ? 0 : size < 0x1.000001p128 ? 1 : INFINITY;
  if (size < smallest)
    return std::fabs(y) <= smallest && (exact != 0 || !std::signbit(exact) == !std::signbit(y)) ? 0 : INFINITY;
  return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, std::ilogb(size) - 23);
}

template <class F, class G>
void check(const std::string& name, double bound, F f, G exact) {
  double worst = 0;
  float at = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 3989) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::fabs(x) < 0x1p-126f && x != 0) continue;  // denormal
    const double error = error_of(f(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error, at = x;
  }
  for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, 0.5f, INFINITY, -INFINITY, NAN}) {
    const double error = error_of(f(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error, at = x;
  }
  CAPTURE(name);
  CAPTURE(at);
  CHECK(worst <= bound);
  CHECK(worst >= (bound > 0 ? 0.49 : 0));  // something was compared
}

}  // namespace

TEST_CASE("functions of one argument") {
  check("expm1", 1.5, [](float x) { return math::expm1(x); }, [](double x) { return std::expm1(x); });
  check(
      "exp2", has_fused_multiply_add ? 1 : 1.2, [](float x) { return math::exp2(x); },
      [](double x) { return std::exp2(x); });
  check(
      "log2", has_fused_multiply_add ? 1.1 : 1.6, [](float x) { return math::log2(x); },
      [](double x) { return std::log2(x); });
  check(
      "log10", has_fused_multiply_add ? 1 : 1.5, [](float x) { return math::log10(x); },
      [](double x) { return std::log10(x); });
  check("sin", 2.4, [](float x) { return math::sin(x); }, [](double x) { return std::sin(x); });
  check("cos", 2.4, [](float x) { return math::cos(x); }, [](double x) { return std::cos(x); });
  check("tan", 3.2, [](float x) { return math::tan(x); }, [](double x) { return std::tan(x); });
  check("asin", 2.4, [](float x) { return math::asin(x); }, [](double x) { return std::asin(x); });
  check(
      "acos", has_fused_multiply_add ? 1.2 : 1.3, [](float x) { return math::acos(x); },
      [](double x) { return std::acos(x); });
  check("atan", 1.3, [](float x) { return math::atan(x); }, [](double x) { return std::atan(x); });
  check("sinh", 1.7, [](float x) { return math::sinh(x); }, [](double x) { return std::sinh(x); });
  check("cosh", 1.5, [](float x) { return math::cosh(x); }, [](double x) { return std::cosh(x); });
  check("asinh", 2.2, [](float x) { return math::asinh(x); }, [](double x) { return std::asinh(x); });
  check("acosh", 2.8, [](float x) { return math::acosh(x); }, [](double x) { return std::acosh(x); });
  check("atanh", 2.5, [](float x) { return math::atanh(x); }, [](double x) { return std::atanh(x); });
  check("erf", 1.2, [](float x) { return math::erf(x); }, [](double x) { return std::erf(x); });
  check("lgamma", 1.5, [](float x) { return math::lgamma(x); }, [](double x) { return std::lgamma(x); });
}

TEST_CASE("rounding is exact") {
  check("floor", 0, [](float x) { return math::round_down(x); }, [](double x) { return std::floor(x); });
  check("ceil", 0, [](float x) { return math::round_up(x); }, [](double x) { return std::ceil(x); });
  check("trunc", 0, [](float x) { return math::trunc(x); }, [](double x) { return std::trunc(x); });
  check("round", 0, [](float x) { return math::round(x); }, [](double x) { return std::rint(x); });
  for (const double x : {0x1p52 + 1, -0x1p53, 0.49999999999999994, -2.5, 4503599627370495.5}) {
    CHECK(math::round_down(x) == std::floor(x));
    CHECK(math::round_up(x) == std::ceil(x));
    CHECK(math::trunc(x) == std::trunc(x));
    CHECK(math::round(x) == std::rint(x));
  }
}

TEST_CASE("sin, cos, tan: arguments next to multiples of π/2, and the largest one") {
  // 16367173 · 2^72 is the float that comes closest to a multiple of π/2 (Muller, Elementary Functions, table 11.1)
  for (const float x : {0x1.f9cbep+95f, 16367173 * 0x1p72f, 1.57079637f, 3.14159274f, 5999.99951f, 6000.0f, 1e10f,
                        std::numeric_limits<float>::max()})
    for (const float angle : {x, -x}) {
      CAPTURE(angle);
      CHECK(error_of(math::sin(angle), std::sin(static_cast<double>(angle))) <= 2.4);
      CHECK(error_of(math::cos(angle), std::cos(static_cast<double>(angle))) <= 2.4);
      CHECK(error_of(math::tan(angle), std::tan(static_cast<double>(angle))) <= 3.2);
    }
}

TEST_CASE("functions of two arguments: fmod is exact, atan2 and hypot within 1.5 ulp") {
  Random random(7);
  double angle = 0, length = 0;
  long wrong = 0;
  const auto check_pair = [&](float a, float b) {
    angle = std::fmax(angle, error_of(math::atan2(a, b), std::atan2(static_cast<double>(a), static_cast<double>(b))));
    length = std::fmax(length, error_of(math::hypot(a, b), std::hypot(static_cast<double>(a), static_cast<double>(b))));
    const float found = math::fmod(a, b), exact = std::fmod(a, b);
    const bool same = std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(exact);
    wrong += !same && !(std::isnan(found) && std::isnan(exact)) && !(std::fabs(exact) < 0x1p-126f);
  };
  for (long i = 0; i < 200000; ++i) {
    const float a = std::ldexp(random.uniform(-1, 1), int(random.below(250)) - 124),
                b = std::ldexp(random.uniform(-1, 1),
                               i % 2 ? int(random.below(250)) - 124 : std::ilogb(a) + int(random.below(40)) - 20);
    if (std::fabs(a) >= 0x1p-126f && std::fabs(b) >= 0x1p-126f) check_pair(a, b);
  }
  const float special[]{0.0f, -0.0f, 1, -1, 3e38f, 1e-37f, INFINITY, -INFINITY, NAN};
  for (const float a : special)
    for (const float b : special) check_pair(a, b);
  CHECK(angle <= 1.5);
  CHECK(length <= (has_fused_multiply_add ? 1.3 : 1.5));
  CHECK(wrong == 0);
}

TEST_CASE("a loop that the compiler may vectorise gives the bits of single calls") {
  Random random(3);
  std::vector<float> x(1003);
  for (float& element : x) element = random.uniform(-3, 3);
  const auto check = [&](auto f) {
    std::vector<float> together(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) together[i] = f(x[i]);
    long other = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      volatile float one = x[i];
      const float alone = f(one);
      other += std::bit_cast<std::uint32_t>(alone) != std::bit_cast<std::uint32_t>(together[i]) && alone == alone;
    }
    CHECK(other == 0);
  };
  check([](float v) { return math::expm1(v); });
  check([](float v) { return math::exp2(v); });
  check([](float v) { return math::log2(v); });
  check([](float v) { return math::log10(v); });
  check([](float v) { return math::usual_sin(v); });
  check([](float v) { return math::usual_cos(v); });
  check([](float v) { return math::usual_tan(v); });
  check([](float v) { return math::asin(v); });
  check([](float v) { return math::acos(v); });
  check([](float v) { return math::atan(v); });
  check([](float v) { return math::atan2(v, 1 - v); });
  check([](float v) { return math::sinh(v); });
  check([](float v) { return math::cosh(v); });
  check([](float v) { return math::asinh(v); });
  check([](float v) { return math::acosh(v); });
  check([](float v) { return math::atanh(v); });
  check([](float v) { return math::erf(v); });
  check([](float v) { return math::lgamma(v); });
  check([](float v) { return math::digamma(v); });
  check([](float v) { return math::hypot(v, 1 - v); });
  check([](float v) { return math::usual_fmod(v, 0.7f); });
  check([](float v) { return math::round(v) + math::round_down(v) * math::round_up(v) + math::trunc(v); });
}
