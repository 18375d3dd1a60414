// Text from files: is it UTF-8, how it stands in JSON, and in a form that a terminal does not obey.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::io {

/// The place of the first byte that is not UTF-8 (no overlong form, no surrogate, at most U+10FFFF), or npos.
[[gnu::cold, gnu::noinline]] inline std::size_t find_bad_utf8(std::string_view s) {
  auto byte = [&](std::size_t i) -> unsigned { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  for (std::size_t i = 0; i < s.size();) {
    const unsigned lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                               : (lead & 0xf0) == 0xe0        ? 3
                               : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                              : 0;
    if (length == 0) return i;
    const unsigned low = lead == 0xe0   ? 0xa0
                         : lead == 0xf0 ? 0x90
                                        : 0x80,
                   high = lead == 0xed   ? 0x9f
                          : lead == 0xf4 ? 0x8f
                                         : 0xbf;
    if (byte(i + 1) < low || byte(i + 1) > high) return i;
    for (std::size_t k = 2; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    i += length;
  }
  return std::string_view::npos;
}

/// Appends the character of a code point up to U+10FFFF.
[[gnu::cold]] inline void append_utf8(std::string& out, unsigned code) {
  const int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  char bytes[4];
  for (int i = length - 1; i > 0; --i, code >>= 6) bytes[i] = static_cast<char>(0x80 | (code & 63));
  constexpr unsigned lead[]{0, 0xc0, 0xe0, 0xf0};
  bytes[0] = static_cast<char>(lead[length - 1] | code);
  out.append(bytes, static_cast<std::size_t>(length));
}

/// s, which is UTF-8, as it stands between the quotes of a JSON text, with the escapes that the reference
/// implementation writes. Byte 7f, which a terminal obeys and JSON does not escape, is escaped for messages.
[[gnu::cold, gnu::noinline]] inline std::string json_escaped(std::string_view s, bool for_message = false) {
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letter = "\"\\bfnrt", digit = "0123456789abcdef";
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto code = static_cast<unsigned char>(s[i]);
    const std::size_t found = special.find(s[i]);
    if (found == special.npos && code >= 0x20 && !(for_message && code == 0x7f)) continue;
    const char named[]{'\\', found == special.npos ? 'u' : letter[found], '0', '0', digit[code >> 4], digit[code & 15]};
    out.append(s.substr(done, i - done)).append(named, found == special.npos ? 6 : 2);
    done = i + 1;
  }
  return out.append(s.substr(done));
}

/// What a library says of a file, in a form fit for a message: it may quote the file. Bytes that are no UTF-8, and what
/// a terminal would obey, are question marks.
[[gnu::cold]] inline std::string printable_sentence(std::string_view said) {
  std::string shown(said);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  for (std::size_t bad; (bad = find_bad_utf8(shown)) != shown.npos;) shown[bad] = '?';
  return shown;
}

/// A name from a file in a form fit for a message: escaped where a terminal would obey it, cut where it is long.
[[gnu::cold, gnu::noinline]] inline std::string printable(std::string_view name) {
  constexpr std::size_t longest = 120;
  std::string_view shown = name.substr(0, longest);
  // also a cut character
  if (const std::size_t bad = find_bad_utf8(shown); bad != shown.npos) shown = shown.substr(0, bad);
  if (shown.size() == name.size()) return text("'", json_escaped(shown, true), "'");
  return text("'", json_escaped(shown, true), "...' (", name.size(), " bytes)");
}

}  // namespace tenon::io
