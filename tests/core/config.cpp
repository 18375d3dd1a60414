// The namespace's name, and arithmetic that rounds twice inside the exact region.
// flags: -O3
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <string_view>
#include <typeinfo>

#include <tenon/core/config.hpp>
#include <tenon/core/random/philox.hpp>

TENON_EXACT_BEGIN
namespace {
inline float sum_of_product(float a, float b, float c) { return a * b + c; }
[[gnu::noinline]] float inlined_twice(const float* x) {
  return sum_of_product(x[0], x[1], x[2]) + sum_of_product(x[1], x[2], x[0]);
}
}  // namespace
TENON_EXACT_END

namespace tenon::inline TENON_ABI {
struct Place {};
}  // namespace tenon

TEST_CASE("the namespace names version, instruction set, and compiler, in few letters") {
  constexpr char level =
#if defined(__aarch64__)
      'a';
#elif defined(__AVX512VBMI2__) && defined(__AVX512BITALG__)
      '5';
#elif defined(__AVX512VL__) && defined(__AVX512DQ__)
      '4';
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
      '3';
#elif defined(__SSE4_2__)
      '2';
#else
      '1';
#endif
#if defined(__clang__)
  constexpr char compiler = 'C';
#else
  constexpr char compiler = 'G';
#endif
  const std::string_view symbol = typeid(tenon::Place).name();
  const auto begin = symbol.find("v01_");
  REQUIRE(begin != symbol.npos);
  CHECK(symbol[begin + 4] == level);
  const auto name = symbol.substr(begin, symbol.find("5Place") - begin);
  CHECK(name.find(compiler, 5) != name.npos);
  CHECK(name.size() <= 20);
  CHECK(std::string_view(TENON_VERSION).starts_with("0.1."));  // v01
}

TEST_CASE("a * b + c rounds the product, also where the processor could fuse it") {
  tenon::Random random(5);
  int differs_when_fused = 0;
  for (int i = 0; i < 1000; ++i) {
    float x[3];
    for (float& v : x) v = random.uniform(-1, 1);
    volatile float first = x[0] * x[1], second = x[1] * x[2];
    volatile float a = first + x[2], b = second + x[0];
    CHECK(inlined_twice(x) == a + b);
    differs_when_fused += std::fma(x[0], x[1], x[2]) + std::fma(x[1], x[2], x[0]) != inlined_twice(x);
  }
  CHECK(differs_when_fused > 100);  // or the test would prove nothing
}
