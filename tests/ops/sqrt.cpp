// sqrt and rsqrt in vectors: the bits of single elements, whatever their number, in place and not.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include <tenon/tenon.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;

namespace {
/// Floats from all over: normal, infinite, not a number, of both signs.
Tensor<float, Shape<dyn>> floats(long count) {
  auto x = Tensor<float, Shape<dyn>>::empty(count);
  for (long i = 0; i < count; ++i) {
    const float value = std::bit_cast<float>(std::uint32_t(i) * 1048573u);
    x.data()[i] = std::fpclassify(value) == FP_SUBNORMAL ? 0.0f : value;
  }
  return x;
}
bool same(float a, float b) { return (a != a && b != b) || std::bit_cast<int>(a) == std::bit_cast<int>(b); }
}  // namespace

TEST_CASE("sqrt and rsqrt: each element as the C library has it") {
  for (const long count : {1, 15, 16, 17, 4099}) {
    const auto x = floats(count), root = sqrt(x), inverse = rsqrt(x);
    bool right = true;
    for (long i = 0; i < count; ++i) {
      const float expected = std::sqrt(x.data()[i]);
      right &= same(root.data()[i], expected) && same(inverse.data()[i], 1.0f / expected);
    }
    CHECK(right);
  }
  support::both_modes([](const auto& v) { return sqrt(v); }, support::random_tensor<float, Shape<dyn, 37>>(1, 0, 4, 3));
  support::both_modes([](const auto& v) { return rsqrt(v); },
                      support::random_tensor<float16, Shape<dyn, 37>>(1, 1, 4, 3));
}
