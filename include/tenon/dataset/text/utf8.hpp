// A text as characters, and as words between white space.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// The bytes of the character that begins so, in a text that is UTF-8.
constexpr std::size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
}  // namespace detail

/// Throws ValueError, with the place, unless the text is UTF-8.
inline void check_utf8(std::string_view text) {
  if (const std::size_t bad = io::find_bad_utf8(text); bad != text.npos)
    throw_error<ValueError>("A text is not UTF-8: byte ", bad, " is ", +static_cast<unsigned char>(text[bad]),
                            ". Convert it, or encode bytes with BytePairEncoding.");
}

/// Calls f(character) for each character of a text in UTF-8: for each code point; a separate accent is a separate
/// character. Throws ValueError as check_utf8 does, before the first call.
template <class F>
void each_character(std::string_view text, F f) {
  check_utf8(text);
  for (std::size_t i = 0; i < text.size(); i += detail::utf8_length(text[i]))
    f(text.substr(i, detail::utf8_length(text[i])));
}

/// Whether a character is white space as Unicode has it: blanks of all widths, tabulators, ends of lines.
inline bool is_white_space(std::string_view character) {
  if (character.size() == 1) return character[0] == ' ' || (character[0] >= '\t' && character[0] <= '\r');
  constexpr std::string_view two[]{"\xc2\x85", "\xc2\xa0"};
  constexpr std::string_view three[]{"\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                     "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
  if (character.size() == 2) return std::ranges::find(two, character) != std::end(two);
  return (character >= "\xe2\x80\x80" && character <= "\xe2\x80\x8a") ||
         std::ranges::find(three, character) != std::end(three);
}

/// Calls f(word) for each word between white space. Throws ValueError as check_utf8 does, before the first call.
template <class F>
void each_word(std::string_view text, F f) {
  std::size_t begin = 0;
  each_character(text, [&](std::string_view character) {
    if (!is_white_space(character)) return;
    const auto at = static_cast<std::size_t>(character.data() - text.data());
    if (at > begin) f(text.substr(begin, at - begin));
    begin = at + character.size();
  });
  if (begin < text.size()) f(text.substr(begin));
}

}  // namespace tenon::dataset
