// The pieces in which a sentence reaches a compiler's message; tests/error has the messages themselves.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include <tenon/core/text/report.hpp>

using namespace tenon;

namespace {
struct Source {
  static constexpr Sentence sentence = [] {
    Sentence s;
    s << "Dense got an input of " << 3 << " columns, its weight [10,400] needs 400";
    return s;
  }();
};
template <int... I>
std::string joined(std::integer_sequence<int, I...>) {
  std::string all;
  ((all += FixedString<detail::piece_length<Source, I> + 1>(
               Source::sentence.view().substr(detail::pieces<Source>.first[I], detail::piece_length<Source, I>))
               .text),
   ...);
  return all;
}
}  // namespace

TEST_CASE("the pieces of a sentence make up the whole, none longer than the compiler prints") {
  constexpr int count = detail::pieces<Source>.count;
  static_assert(count >= 1);
  CHECK(joined(std::make_integer_sequence<int, count>{}) == Source::sentence.view());
  for (int i = 0; i < count; ++i)
    CHECK(detail::pieces<Source>.first[i + 1] - detail::pieces<Source>.first[i] <= detail::piece);
}
