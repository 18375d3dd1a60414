// A string as a template argument.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

#include <tenon/core/text/fixed_string.hpp>

using namespace tenon;

namespace {
template <FixedString Text>
struct Named {
  static constexpr std::string_view name = Text.view();
};
}  // namespace

TEST_CASE("a literal keeps its characters, and equal literals are one type") {
  static_assert(Named<"Conv2d">::name == "Conv2d");
  static_assert(Named<"">::name.empty());
  static_assert(std::is_same_v<Named<"a">, Named<"a">> && !std::is_same_v<Named<"a">, Named<"b">>);
  CHECK(Named<"Conv2d">::name.size() == 6);
}

TEST_CASE("a longer text is cut, a shorter one is followed by zeros") {
  constexpr FixedString<4> cut(std::string_view("abcdef")), padded(std::string_view("a"));
  static_assert(cut.view() == "abc");
  CHECK(padded.text[0] == 'a');
  CHECK(padded.text[1] == 0);
  CHECK(padded.text[3] == 0);
}
