// Reference: conversions between all pairs of dtypes, at their limits and halfway between two numbers: all bits as on
// the CPU.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/core/context.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class F>
void each_dtype(F f) {
  (f(true), f(std::int8_t{1}), f(std::int16_t{1}), f(std::int32_t{1}), f(std::int64_t{1}));
  (f(std::uint8_t{1}), f(std::uint16_t{1}), f(std::uint32_t{1}), f(std::uint64_t{1}));
  (f(float16(1.0f)), f(bfloat16(1.0f)), f(1.0f), f(1.0));
}
/// Numbers where conversions go wrong, as far as T has them, and random ones of all magnitudes.
template <class T>
auto hard_numbers() {
  Tensor<T, Shape<600>> x = Tensor<T, Shape<600>>::empty();
  Random random(3);
  for (long i = 0; i < 600; ++i) {
    const std::uint64_t word = std::uint64_t{random.word()} << 32 | random.word();
    if constexpr (is_floating(dtype_of<T>)) {
      // a few digits, one far behind them, and any exponent for which float needs no denormal
      const double near = double(word % 8192) + (i % 3 - 1) * 0x1p-30, sign = i % 2 ? -1 : 1;
      const int exponent = int(random.below(i % 5 ? 70 : 190)) - (i % 5 ? 35 : 95);
      x.data()[i] = T(static_cast<Compute<T>>(sign * std::ldexp(near, exponent)));
    } else x.data()[i] = static_cast<T>(word >> random.below(64));
  }
  if constexpr (is_floating(dtype_of<T>)) {
    const double special[]{0.0,           -0.0,  INFINITY, -INFINITY, NAN,    2147483647.5, -2147483648.0,
                           -2147483649.0, 65504, 65519.99, 65520,     0x1p63, -0x1p63,      0x1p64,
                           -0.75,         255.9, 127.5,    -128.5,    32767.9};
    long i = 0;
    for (const double v : special) x.data()[i++] = T(static_cast<Compute<T>>(v));
  } else {
    x.data()[0] = std::numeric_limits<T>::lowest(), x.data()[1] = std::numeric_limits<T>::max();
    // halfway between two numbers of 8, 11, 24, and 53 digits, and one beside it
    long i = 2;
    for (const int digits : {8, 11, 24, 53})
      for (const int last : {-1, 0, 1})
        for (const int odd : {0, 1}) {
          const std::uint64_t number = (std::uint64_t{1} << 63) + (std::uint64_t(2 * odd + 1) << (63 - digits));
          x.data()[i++] = static_cast<T>((number >> (64 - std::numeric_limits<T>::digits)) + std::uint64_t(last));
        }
  }
  return x;
}
}  // namespace

TEST_CASE("all pairs of dtypes") {
  each_dtype([]<class From>(From) {
    const auto x = hard_numbers<From>();
    each_dtype([&]<class To>(To) {
      CAPTURE(name(dtype_of<From>));
      CAPTURE(name(dtype_of<To>));
      const auto here = cast<To>(x);
      const ContextScope scope({.device_target = "Reference"});
      const auto there = cast<To>(x.copy());
      CHECK(SameNumbers()(here, there));
    });
  });
}

TEST_CASE("gradients go back in the dtype that they came from") {
  const auto check = []<class T>(T) {
    const auto x = random_tensor<T, Shape<dyn, 3, 5>>(1);
    both_modes([](const auto& v) { return cast<float16>(v) * 2; }, x);
    both_modes([](const auto& v) { return cast<double>(v) * cast<double>(cast<std::int32_t>(v)); }, x);
    both_modes([](const auto& v) { return cast<bfloat16>(v); }, x);
  };
  check(1.0f), check(1.0), check(bfloat16(1.0f));
}
