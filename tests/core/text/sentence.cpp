// Sentences composed in constant evaluation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <climits>
#include <string>

#include <tenon/core/text/sentence.hpp>

using namespace tenon;

namespace {
template <class... Parts>
constexpr Sentence made(const Parts&... parts) {
  Sentence s;
  ((s << parts), ...);
  return s;
}
}  // namespace

TEST_CASE("texts and numbers") {
  static_assert(made("needs ", 3, " channels, not ", -12L).view() == "needs 3 channels, not -12");
  static_assert(made().empty() && !made(0).empty() && made(0).view() == "0");
  CHECK(made(LLONG_MIN).view() == std::to_string(LLONG_MIN));
  CHECK(made(LLONG_MAX, INT_MIN).view() == std::to_string(LLONG_MAX) + std::to_string(INT_MIN));
}

TEST_CASE("what does not fit is cut") {
  const std::string letters(Sentence::capacity - 2, 'a');
  const Sentence s = made(letters, 12345, "b");
  CHECK(s.length == Sentence::capacity);
  CHECK(s.view() == letters + "12");
}
