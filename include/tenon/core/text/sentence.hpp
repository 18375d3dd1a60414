// Text composed during constant evaluation: shape rules write their error with it, without a heap.
#pragma once
#include <cstddef>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// A short text of fixed capacity; what does not fit is cut. Streams like `error << "needs " << 3 << " channels";`
struct Sentence {
  static constexpr int capacity = 330;
  char text[capacity]{};
  int length = 0;

  constexpr Sentence() = default;
  constexpr bool empty() const { return length == 0; }
  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }

  [[gnu::noinline]] constexpr Sentence& operator<<(std::string_view s) {
    for (char c : s)
      if (length < capacity) text[length++] = c;
    return *this;
  }
  [[gnu::noinline]] constexpr Sentence& operator<<(const char* s) { return *this << std::string_view(s); }
  [[gnu::noinline]] constexpr Sentence& operator<<(unsigned long long value) {
    char digits[20]{};
    int count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (count) *this << std::string_view(&digits[--count], 1);
    return *this;
  }
  constexpr Sentence& operator<<(long long value) {
    if (value >= 0) return *this << static_cast<unsigned long long>(value);
    return *this << "-" << 0ull - static_cast<unsigned long long>(value);
  }
  constexpr Sentence& operator<<(int value) { return *this << static_cast<long long>(value); }
  constexpr Sentence& operator<<(long value) { return *this << static_cast<long long>(value); }
};

}  // namespace tenon
