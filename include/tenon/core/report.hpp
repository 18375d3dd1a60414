// How a sentence composed in constant evaluation becomes a compile error.
#pragma once
#include <utility>

#include <tenon/core/fixed_string.hpp>
#include <tenon/core/sentence.hpp>

namespace tenon::inline TENON_ABI {

/// Never defined: naming it with a sentence is the error message. Compilers print short strings in full, so the
/// sentence comes in pieces.
template <FixedString... Sentence>
struct mistake;

namespace detail {
inline constexpr int piece = 30;
template <class Source, int... I>
constexpr auto reported(std::integer_sequence<int, I...>) {
  return mistake<FixedString<piece + 1>(Source::sentence.view().substr(I * piece, piece))...>::reported;
}
}  // namespace detail

/// Stops the compilation with Source::sentence (a Sentence).
template <class Source>
constexpr auto report() {
  return detail::reported<Source>(std::make_integer_sequence<int, (Source::sentence.length + detail::piece - 1) / detail::piece>{});
}

}  // namespace tenon
