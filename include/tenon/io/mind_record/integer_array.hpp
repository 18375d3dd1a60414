// Arrays of integers as MindRecord files store them: each element with as few bytes as it needs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tenon::inline TENON_ABI::io {

// The form: the number of elements in 4 bytes, big-endian; 2 bits for each element, the first one's highest, which say
// that it has 1, 2, 4, or 8 bytes; the elements, little-endian, without the bytes that repeat the sign.

namespace detail {
/// 0 to 3 for the 1, 2, 4, or 8 bytes that a number needs.
constexpr unsigned width_code(std::int64_t number) {
  if (number == std::int8_t(number)) return 0;
  if (number == std::int16_t(number)) return 1;
  return number == std::int32_t(number) ? 2 : 3;
}
/// A little-endian number of 1, 2, 4, or 8 bytes with its sign.
inline std::int64_t signed_number(const char* bytes, unsigned code) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, std::size_t(1) << code);
  const int unused = 64 - (8 << code);
  return std::int64_t(number << unused) >> unused;
}
}  // namespace detail

/// Appends the elements, int32 or int64, in the form of the file.
template <class T>
void append_compressed(std::span<const T> elements, std::string& out) {
  const std::size_t count = elements.size();
  for (int shift = 24; shift >= 0; shift -= 8) out += char(count >> shift & 255);
  const std::size_t codes = out.size();
  out.append((count + 3) / 4, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = elements[i];
    const unsigned code = detail::width_code(number);
    out[codes + i / 4] = char(unsigned(out[codes + i / 4]) | code << (6 - 2 * (i % 4)));
    char bytes[8];
    std::memcpy(bytes, &number, sizeof bytes);
    out.append(bytes, std::size_t(1) << code);
  }
}

/// The number of elements that the bytes say they have, or -1 if they cannot have this many: each needs a byte or more.
inline std::int64_t compressed_count(std::string_view bytes) {
  if (bytes.size() < 4) return -1;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < 4; ++i) count = count << 8 | static_cast<unsigned char>(bytes[i]);
  return count + (count + 3) / 4 > bytes.size() - 4 ? -1 : std::int64_t(count);
}

/// Writes as many elements as compressed_count() says. False if the bytes end too early or too late, or an element does
/// not fit into T.
template <class T>
bool expand_integers(std::string_view bytes, T* to) {
  const std::int64_t count = compressed_count(bytes);
  if (count < 0) return false;
  const char* const codes = bytes.data() + 4;
  const char* next = codes + (count + 3) / 4;
  const char* const end = bytes.data() + bytes.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const unsigned code = static_cast<unsigned char>(codes[i / 4]) >> (6 - 2 * (i % 4)) & 3;
    if (end - next < std::ptrdiff_t(1) << code) return false;
    const std::int64_t number = detail::signed_number(next, code);
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return false;
    to[i] = T(number);
    next += std::ptrdiff_t(1) << code;
  }
  return next == end;
}

}  // namespace tenon::io
