// Bytes of colour pixels moved in registers: compilers make vectors of such loops at -O3 only.
#pragma once
#include <cstdint>

#include <tenon/core/simd/simd.hpp>

namespace tenon::inline TENON_ABI::vision::detail {

using Bytes16 = Simd<std::uint8_t, 16>;

/// Byte Channel of each of the 16 pixels of 3 bytes at `from`.
template <int Channel>
[[gnu::always_inline]] inline Bytes16 channel_of_16(const std::uint8_t* from) {
  constexpr auto of_first_two = [](int lane) { return 3 * lane + Channel < 32 ? 3 * lane + Channel : 0; };
  constexpr auto with_third = [](int lane) { return 3 * lane + Channel < 32 ? lane : 3 * lane + Channel - 16; };
  const Bytes16 a = Bytes16::load(from), b = Bytes16::load(from + 16), c = Bytes16::load(from + 32);
  const Bytes16 two = tenon::detail::shuffled<Bytes16>(a, b, tenon::detail::Order<16, of_first_two>());
  return tenon::detail::shuffled<Bytes16>(two, c, tenon::detail::Order<16, with_third>());
}

/// The 5 pixels of 3 bytes that end with byte 15 at `from`, the last one first; byte 15 of the result means nothing.
[[gnu::always_inline]] inline Bytes16 mirrored_5(const std::uint8_t* from) {
  constexpr auto order = [](int lane) { return lane == 15 ? 0 : 1 + (4 - lane / 3) * 3 + lane % 3; };
  const Bytes16 pixels = Bytes16::load(from);
  return tenon::detail::shuffled<Bytes16>(pixels, pixels, tenon::detail::Order<16, order>());
}

}  // namespace tenon::vision::detail
