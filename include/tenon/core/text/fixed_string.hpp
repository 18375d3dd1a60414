// A string as a template argument: operators and error reports carry their text in the type.
#pragma once
#include <cstddef>
#include <string_view>

#include <tenon/core/config.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

template <int N>
struct FixedString {
  char text[N]{};

  constexpr FixedString() = default;
  constexpr FixedString(const char (&literal)[N]) {
    for (int i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr explicit FixedString(std::string_view cut) {
    // The last zero is written too: clang prints an array as text only if it has seen the end.
    for (int i = 0; i < N; ++i)
      text[i] = i < N - 1 && i < static_cast<int>(cut.size()) ? cut[static_cast<std::size_t>(i)] : '\0';
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace tenon
TENON_INT_SIZES_END
