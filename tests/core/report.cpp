// The pieces in which a sentence reaches a compiler's message; tests/error has the messages themselves.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include <tenon/core/report.hpp>

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
std::string pieces(std::integer_sequence<int, I...>) {
  std::string all;
  ((all += FixedString<detail::piece + 1>(Source::sentence.view().substr(I * detail::piece, detail::piece)).text), ...);
  return all;
}
template <class S> concept Reported = requires { mistake<FixedString("x")>::reported; } || requires { sizeof(mistake<FixedString("x")>); };
}  // namespace

TEST_CASE("the pieces of a sentence make up the whole") {
  constexpr int count = (Source::sentence.length + detail::piece - 1) / detail::piece;
  static_assert(count == 3);
  CHECK(pieces(std::make_integer_sequence<int, count>{}) == Source::sentence.view());
}

TEST_CASE("a mistake has no definition, so that naming its member cannot compile") { static_assert(!Reported<Source>); }
