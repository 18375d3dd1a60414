// CRC-32C (Castagnoli), the checksum of TFRecord files, and the masked form in which they store it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::io {

namespace detail {
/// Table k has what a byte does that k more bytes follow: eight bytes are looked up at once.
inline constexpr auto crc32c_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      table[k][byte] = table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 255u];
  return table;
}();

#if defined(__SSE4_2__) && !defined(__CUDACC__)
/// By the processor's instruction, which takes eight bytes.
inline std::uint32_t crc32c_by_instruction(std::string_view bytes) {
  std::uint64_t crc = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    unsigned long long word;
    __builtin_memcpy(&word, bytes.data() + i, 8);
    asm("crc32{q %1, %0| %0, %1}" : "+r"(crc) : "r"(word));
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; i < bytes.size(); ++i) asm("crc32{b %1, %0| %0, %1}" : "+r"(rest) : "r"(bytes[i]));
  return ~rest;
}
#endif
}  // namespace detail

/// The CRC-32C of the bytes.
constexpr std::uint32_t crc32c(std::string_view bytes) {
#if defined(__SSE4_2__) && !defined(__CUDACC__)
  if (!std::is_constant_evaluated()) return detail::crc32c_by_instruction(bytes);
#endif
  const auto& table = detail::crc32c_tables;
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(bytes[i])); };
  std::uint32_t crc = ~std::uint32_t{0};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    crc ^= byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
    crc = table[7][crc & 255u] ^ table[6][crc >> 8 & 255u] ^ table[5][crc >> 16 & 255u] ^ table[4][crc >> 24] ^
          table[3][byte(i + 4)] ^ table[2][byte(i + 5)] ^ table[1][byte(i + 6)] ^ table[0][byte(i + 7)];
  }
  for (; i < bytes.size(); ++i) crc = crc >> 8 ^ table[0][(crc ^ byte(i)) & 255u];
  return ~crc;
}

/// The CRC-32C as records store it: rotated, and a constant added, so that bytes that hold checksums have others.
constexpr std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace tenon::io
