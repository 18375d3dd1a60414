// CRC-32, the checksum of zip files and of checkpoints that MindSpore wrote with crc_check.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::io {

namespace detail {
inline constexpr auto crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
    table[byte] = crc;
  }
  return table;
}();
}  // namespace detail

/// The CRC-32 of the bytes; `before` is that of what stands before them.
inline std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) {
  std::uint32_t crc = ~before;
  for (const char c : bytes) crc = crc >> 8 ^ detail::crc32_table[(crc ^ static_cast<unsigned char>(c)) & 255u];
  return ~crc;
}

}  // namespace tenon::io
