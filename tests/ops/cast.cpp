// Conversions between all dtypes: limits, rounding, gradients.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"

#include <cmath>
#include <limits>

#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>

using namespace tenon;
using namespace support;

namespace {
template <class To, class From>
To converted(From x) {
  return cast<To>(Tensor<From, Shape<>>::full(x)).item();
}
constexpr double infinity = std::numeric_limits<double>::infinity();
/// The value of T nearest to x, ties to even, by search among all 65536 of them.
template <class T>
float nearest_of_all(double x) {
  float best = 0;
  bool even = true;
  double distance = infinity;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    T candidate;
    candidate.bits = static_cast<std::uint16_t>(bits);
    const double value = candidate, d = std::fabs(value - x);
    if (!(std::fabs(value) < infinity)) continue;
    if (d < distance || (d == distance && !even && !(bits & 1))) best = candidate, distance = d, even = !(bits & 1);
  }
  return best;
}
}  // namespace

TEST_CASE("floating-point to integer truncates, saturates, and takes NaN to 0") {
  CHECK(converted<std::int32_t>(2.9f) == 2);
  CHECK(converted<std::int32_t>(-2.9) == -2);
  CHECK(converted<std::int32_t>(3e9f) == std::numeric_limits<std::int32_t>::max());
  CHECK(converted<std::int32_t>(2147483647.0) == 2147483647);
  CHECK(converted<std::int32_t>(-3e9f) == std::numeric_limits<std::int32_t>::min());
  CHECK(converted<std::int64_t>(1e30) == std::numeric_limits<std::int64_t>::max());
  CHECK(converted<std::uint64_t>(1.8446744073709550e19) == 18446744073709549568ull);
  CHECK(converted<std::uint64_t>(-1.0f) == 0);
  CHECK(converted<std::int8_t>(infinity) == 127);
  CHECK(converted<std::uint8_t>(-infinity) == 0);
  CHECK(converted<std::uint8_t>(255.9f) == 255);
  CHECK(converted<std::int16_t>(std::nan("")) == 0);
  CHECK(converted<std::int8_t>(float16(-7.75f)) == -7);
}

TEST_CASE("integers to smaller integers wrap around, to and from bool is about zero") {
  CHECK(converted<std::int8_t>(std::int32_t{300}) == 44);
  CHECK(converted<std::uint8_t>(std::int64_t{-1}) == 255);
  CHECK(converted<std::int64_t>(std::uint64_t{1} << 63) == std::numeric_limits<std::int64_t>::min());
  CHECK(converted<bool>(0.25f));
  CHECK(converted<bool>(std::nanf("")));
  CHECK_FALSE(converted<bool>(-0.0));
  CHECK(converted<bool>(std::int64_t{256}));
  CHECK(converted<float>(true) == 1.0f);
  CHECK(converted<std::int32_t>(true) == 1);
}

TEST_CASE("to 16-bit floats in one rounding, although the way leads through float") {
  const double tie = 1 + 0x1p-11, above = tie + 0x1p-40, below = tie - 0x1p-40;
  CHECK(float(converted<float16>(tie)) == 1.0f);
  CHECK(float(converted<float16>(above)) == 1 + 0x1p-10f);
  CHECK(float(converted<float16>(below)) == 1.0f);
  CHECK(float(converted<bfloat16>(1 + 0x1p-8 + 0x1p-40)) == 1 + 0x1p-7f);
  CHECK(float(converted<bfloat16>((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1)) ==
        std::ldexp(1 + 0x1p-7f, 62));
  CHECK(float(converted<bfloat16>(-(std::int64_t{1} << 62) - (std::int64_t{1} << 54) - 1)) ==
        -std::ldexp(1 + 0x1p-7f, 62));
  CHECK(float(converted<bfloat16>((std::int64_t{1} << 62) + (std::int64_t{1} << 54))) == std::ldexp(1.0f, 62));
  CHECK(std::isinf(float(converted<float16>(65520.0))));
  CHECK(float(converted<float16>(65519.99)) == 65504.0f);
  CHECK(std::isinf(float(converted<bfloat16>(1e300))));
  CHECK(std::isnan(float(converted<float16>(std::nan("")))));
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const double x = (random.word() * 0x1p-32 - 0.5) * std::ldexp(1.0, int(random.below(36)) - 20);
    CAPTURE(x);
    CHECK(float(converted<float16>(x)) == nearest_of_all<float16>(x));
    CHECK(float(converted<bfloat16>(x)) == nearest_of_all<bfloat16>(x));
  }
}

TEST_CASE("a gradient goes back in the dtype it came from, and stops at integers") {
  const auto x = tensor_of<float, Shape<3>>({1, 2, 3});
  const auto half = both_modes([](const auto& v) { return cast<float16>(v) * 2; }, x);
  CHECK(std::is_same_v<decltype(half.result)::type, float16>);
  CHECK(std::get<0>(half.gradient).values()[0] != 0.0f);
  const auto integer = both_modes([](const auto& v) { return cast<float>(cast<std::int32_t>(v)) * v; },
                                  tensor_of<float, Shape<3>>({1.5f, 2.5f, -3.5f}));
  CHECK(integer.result.values()[2] == 10.5f);
  const auto same = both_modes([](const auto& v) { return cast<float>(v) * v; }, x);
  CHECK(same.result.values()[1] == 4.0f);
}
