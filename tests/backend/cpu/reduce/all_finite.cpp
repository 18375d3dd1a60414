// Infinite numbers and NaN are found wherever they stand, and nothing else is.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include <tenon/backend/cpu/reduce/all_finite.hpp>

using namespace tenon;

namespace {
/// The bits of the largest finite number, of infinity, of a NaN, and of the smallest number.
template <class T, class Bits>
void check(Bits largest, Bits infinity, Bits nan, Bits smallest) {
  const auto number = [](Bits bits) { return std::bit_cast<T>(bits); };
  constexpr Bits sign = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  for (const long count : {1L, 63L, 64L, 65L, 200L}) {
    std::vector<T> x(std::size_t(count), number(largest));
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = number(Bits(smallest | sign));
    CHECK(kernel::all_finite(x.data(), count));
    CHECK(kernel::all_finite(x.data(), 0));
    for (std::size_t at = 0; at < x.size(); ++at)
      for (const Bits bad : {infinity, nan, Bits(infinity | sign), Bits(nan | sign)}) {
        auto y = x;
        y[at] = number(bad);
        CHECK(!kernel::all_finite(y.data(), count));
        CHECK(kernel::all_finite(y.data(), long(at)));
      }
  }
}
}  // namespace

TEST_CASE("all finite: every dtype, every place") {
  check<float, std::uint32_t>(0x7f7fffff, 0x7f800000, 0x7f800001, 1);
  check<double, std::uint64_t>(0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000, 1);
  check<bfloat16, std::uint16_t>(0x7f7f, 0x7f80, 0x7fff, 1);
  check<float16, std::uint16_t>(0x7bff, 0x7c00, 0x7c01, 1);
}
