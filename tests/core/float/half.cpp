// All 65536 patterns of both 16-bit types, and rounding against an independent rule and the compiler's own type.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>

#include <tenon/core/float/half.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
template <class Half>
Half pattern(std::uint32_t bits) {
  Half h;
  h.bits = std::uint16_t(bits);
  return h;
}
// The value of a pattern, from the definition of the format.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, exponent = int(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = double(bits & ((1u << fraction_bits) - 1)) / double(1 << fraction_bits),
               sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias) : sign * std::ldexp(1 + fraction, exponent - bias);
}
// The nearest of two neighbours, the even one for a tie: `low` and `low + 1` are patterns of positive numbers.
template <class Half>
std::uint16_t nearest(float x, std::uint32_t low, int exponent_bits, int fraction_bits) {
  const double a = value_of(low, exponent_bits, fraction_bits);
  double b = value_of(low + 1, exponent_bits, fraction_bits);
  if (std::isinf(b)) b = std::ldexp(1.0, 1 << (exponent_bits - 1));  // where the next number would be
  const double to_a = double(x) - a, to_b = b - double(x);
  return std::uint16_t(to_a < to_b ? low : to_a > to_b ? low + 1 : low + (low & 1));
}
template <class Half>
void all_patterns(int exponent_bits, int fraction_bits) {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half h = pattern<Half>(bits);
    const double expected = value_of(bits, exponent_bits, fraction_bits);
    const float x = h;
    if (std::isnan(expected)) wrong += !std::isnan(x) || !std::isnan(float(Half(x)));
    else wrong += double(x) != expected || std::signbit(x) != bool(bits & 0x8000) || Half(x).bits != bits;
  }
  CHECK(wrong == 0);
}
// Around every pair of neighbours: the middle and the floats next to it.
template <class Half>
void all_borders(int exponent_bits, int fraction_bits) {
  int wrong = 0;
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  for (std::uint32_t low = 0; low < infinity; ++low) {
    double high = value_of(low + 1, exponent_bits, fraction_bits);
    if (std::isinf(high)) high = std::ldexp(1.0, 1 << (exponent_bits - 1));
    const float middle = float((value_of(low, exponent_bits, fraction_bits) + high) / 2),
                limit = std::numeric_limits<float>::infinity();
    for (float x : {middle, std::nextafterf(middle, -limit), std::nextafterf(middle, limit)}) {
      if (std::isinf(x)) continue;
      const std::uint16_t expected = nearest<Half>(x, low, exponent_bits, fraction_bits);
      wrong += Half(x).bits != expected || Half(-x).bits != (expected | 0x8000);
    }
  }
  CHECK(wrong == 0);
}
}  // namespace

TEST_CASE("float16: every pattern to float and back") { all_patterns<float16>(5, 10); }
TEST_CASE("bfloat16: every pattern to float and back") { all_patterns<bfloat16>(8, 7); }
TEST_CASE("float16: every border between neighbours, ties to even") { all_borders<float16>(5, 10); }
TEST_CASE("bfloat16: every border between neighbours, ties to even") { all_borders<bfloat16>(8, 7); }

TEST_CASE("known patterns") {
  CHECK(float16(1.0f).bits == 0x3c00);
  CHECK(float16(65504.0f).bits == 0x7bff);
  CHECK(float16(65519.996f).bits == 0x7bff);
  CHECK(float16(65520.0f).bits == 0x7c00);
  CHECK(float16(0x1p-24f).bits == 1);
  CHECK(float16(0x1p-25f).bits == 0);
  CHECK(float16(0x1.000002p-25f).bits == 1);
  CHECK(float16(0x1.ffcp-15f).bits == 0x0400);  // the largest subnormal rounds up to the smallest normal number
  CHECK(float16(-0.0f).bits == 0x8000);
  CHECK(bfloat16(1.0f).bits == 0x3f80);
  CHECK(bfloat16(from_bits(0x3f808000)).bits == 0x3f80);
  CHECK(bfloat16(from_bits(0x3f818000)).bits == 0x3f82);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(std::isnan(float(bfloat16(from_bits(0x7f800001)))));  // a NaN whose upper half alone would be infinity
  CHECK(std::isnan(float(float16(from_bits(0x7f800001)))));
  static_assert(float16(0.1f).bits == 0x2e66 && float(float16(0.5f)) == 0.5f && bfloat16(-2.0f).bits == 0xc000);
}

#if defined(__FLT16_MAX__)
TEST_CASE("float16 rounds as the compiler's _Float16 does") {
  int wrong = 0;
  const auto compare = [&](float x) {
    const _Float16 theirs = static_cast<_Float16>(x);
    std::uint16_t bits;
    std::memcpy(&bits, &theirs, 2);
    wrong += std::isnan(x) ? !std::isnan(float(float16(x))) : float16(x).bits != bits;
  };
  for (std::uint32_t i = 0; i < 1u << 20; ++i) compare(from_bits(i << 12 | (i & 0xfff)));
  Random random(16);
  for (int i = 0; i < 1 << 20; ++i) compare(from_bits(random.word()));
  CHECK(wrong == 0);
}
#endif
