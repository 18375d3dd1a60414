// The pieces of a text, which byte-pair encoding processes one by one.
#pragma once
#include <cstddef>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The most bytes of a piece, so that the work for one has a bound.
inline constexpr std::size_t longest_piece = 256;

namespace detail {
enum class ByteKind { blank, letter, other };
constexpr ByteKind kind_of_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == ' ' || (c >= '\t' && c <= '\r')) return ByteKind::blank;
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || byte >= 0x80;
  return letter ? ByteKind::letter : ByteKind::other;
}
}  // namespace detail

/// Calls f(piece) for each piece of a text; together they are the text. A piece is a run of letters and digits (all
/// that is not ASCII among them), or of other signs, with the one space before it, or a run of white space.
template <class F>
void each_piece(std::string_view text, F f) {
  using detail::ByteKind, detail::kind_of_byte;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    const auto run = [&](ByteKind kind) {
      while (end < text.size() && end - begin < longest_piece && kind_of_byte(text[end]) == kind) ++end;
    };
    const bool space =
        text[begin] == ' ' && begin + 1 < text.size() && kind_of_byte(text[begin + 1]) != ByteKind::blank;
    end += space;
    const ByteKind kind = kind_of_byte(text[end]);
    run(kind);
    // the last space of several belongs to what follows
    if (kind == ByteKind::blank && end - begin > 1 && end < text.size() && text[end - 1] == ' ' &&
        kind_of_byte(text[end]) != ByteKind::blank)
      --end;
    f(text.substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace tenon::dataset
