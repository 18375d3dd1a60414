// A string as a template argument: operators and error reports carry their text in the type.
#pragma once
#include <cstddef>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

template <int N>
struct FixedString {
  char text[N]{};

  constexpr FixedString() = default;
  constexpr FixedString(const char (&literal)[N]) {
    for (int i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr explicit FixedString(std::string_view cut) {
    for (int i = 0; i < N - 1 && i < static_cast<int>(cut.size()); ++i) text[i] = cut[static_cast<std::size_t>(i)];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace tenon
