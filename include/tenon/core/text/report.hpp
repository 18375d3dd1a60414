// How a sentence composed in constant evaluation becomes a compile error.
#pragma once
#include <utility>

#include <tenon/core/text/fixed_string.hpp>
#include <tenon/core/text/sentence.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {

// clang cuts a string after 36 characters, so the sentence comes in pieces, cut between words; g++ prints it whole.
#if defined(__clang__)
inline constexpr int piece = 35;
#else
inline constexpr int piece = Sentence::capacity;
#endif
struct Pieces {
  int first[Sentence::capacity + 1]{};
  int count = 0;
};
constexpr Pieces pieces_of(const Sentence& s) {
  Pieces p;
  for (int at = 0; at < s.length; ++p.count) {
    int end = at + piece < s.length ? at + piece : s.length;
    if (end < s.length)
      for (int blank = end; blank > at; --blank)
        if (s.text[blank - 1] == ' ') {
          end = blank;
          break;
        }
    p.first[p.count + 1] = at = end;
  }
  return p;
}

}  // namespace detail

/// What the compiler names when a program is wrong: the sentence stands in the template argument. It has no members.
template <FixedString... sentence>
struct mistake {};

namespace detail {

template <class Source>
inline constexpr Pieces pieces = pieces_of(Source::sentence);
template <class Source, int I>
inline constexpr int piece_length = pieces<Source>.first[I + 1] - pieces<Source>.first[I];
template <class Source, int... I>
auto mistake_of(std::integer_sequence<int, I...>)
    -> mistake<FixedString<piece_length<Source, I> + 1>(Source::sentence.view().substr(pieces<Source>.first[I],
                                                                                       piece_length<Source, I>))...>;

template <class Source, class Used = unsigned long>
struct MistakeOf {
  using type = decltype(mistake_of<Source>(std::make_integer_sequence<int, pieces<Source>.count>{}));
};

#if defined(__CUDACC__)
// nvcc reads a program twice. Its own front end prints text letter by letter, so there the report passes, and g++
// after it speaks. The two write `unsigned long` in different ways: nothing else tells them apart inside a template.
template <class T>
constexpr bool in_front_end() {
  return std::string_view(__PRETTY_FUNCTION__).find("unsigned long") != std::string_view::npos;
}
// What replaces the result there: a Broken (graph/ir/traced.hpp), on which every use of a result compiles.
template <class Used>
struct PassedValue;
template <class Used>
struct Passed {
  static constexpr typename PassedValue<Used>::type corrected{};
};
template <class Source, class Used>
requires(in_front_end<Used>())
struct MistakeOf<Source, Used> {
  using type = Passed<Used>;
};
#endif

}  // namespace detail

/// Stops the compilation with Source::sentence (a Sentence): `using Wrong = Mistake<Source>; return Wrong::corrected;`
/// This stands in the function that the user called, and nothing else is instantiated there, for every level between is
/// one more line of g++ and three of clang. The alias Wrong spares the reader the full name of Source.
template <class Source>
using Mistake = typename detail::MistakeOf<Source>::type;

namespace detail {
/// What an overload says that is declared only, for wrong calls: void if there is nothing to say. The overload has a
/// template argument `class Wrong = typename RefusalOf<Source>::type`, needs one that is not void, and returns `auto`,
/// which nothing defines. Compilers then refuse the user's own line, in 4 lines of g++ instead of 9, and 7 of clang.
/// nvcc's front end would speak first: it has none.
template <class Source, bool refused = !Source::ok>
struct RefusalOf {
  using type = void;
};
#if !defined(__CUDACC__)
template <class Source>
struct RefusalOf<Source, true> {
  using type = Mistake<Source>;
};
#endif
}  // namespace detail

/// The same as a call, where a level more does not matter.
template <class Source>
constexpr auto report() {
  return Mistake<Source>::corrected;
}

}  // namespace tenon
