// Numbers of a JSON array, read without the events of a JSON reader, which cost more than the numbers.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <system_error>

#include <tenon/serve/infer/number_list.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A text and how far it has been read.
struct TextCursor {
  const char* at = nullptr;
  const char* end = nullptr;
};

/// An iterator whose copies share a cursor: what reads through it goes on where the cursor was set.
class CursorIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit CursorIterator(TextCursor* cursor = nullptr) : cursor_(cursor) {}  // none: the end
  const char& operator*() const { return *cursor_->at; }
  CursorIterator& operator++() { return ++cursor_->at, *this; }
  bool operator==(const CursorIterator& other) const { return is_end() == other.is_end(); }

 private:
  bool is_end() const { return !cursor_ || cursor_->at == cursor_->end; }

  TextCursor* cursor_;
};

namespace detail {
inline const char* after_space(const char* at, const char* end) {
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}
inline bool is_digit(const char* at, const char* end) { return at != end && unsigned(*at - '0') < 10; }

/// A number by the grammar of JSON. Its value is digits · 10^exponent, if there are few digits.
struct PlainNumber {
  bool negative = false, whole = true;
  int count = 0, exponent = 0;  // count: of digits
  std::uint64_t digits = 0;
  std::string_view text{};

  /// Reads one that begins at `at`; returns its end, or null for anything else.
  const char* read(const char* at, const char* end) {
    const char* p = at;
    if (p != end && *p == '-') negative = true, ++p;
    const char* const first = p;
    while (is_digit(p, end)) take(*p++);
    if (p == first || (*first == '0' && p - first > 1)) return nullptr;
    if (p != end && *p == '.') {
      const char* const point = ++p;
      while (is_digit(p, end)) take(*p++);
      if (p == point) return nullptr;
      whole = false, exponent = -int(p - point);
    }
    if (p != end && (*p == 'e' || *p == 'E')) {
      whole = false;
      const bool down = ++p != end && *p == '-';
      if (p != end && (*p == '-' || *p == '+')) ++p;
      const char* const power = p;
      int n = 0;
      while (is_digit(p, end)) n = n < 10'000 ? n * 10 + (*p - '0') : n, ++p;
      if (p == power) return nullptr;
      exponent += down ? -n : n;
    }
    text = {at, std::size_t(p - at)};
    return p;
  }
  /// Adds it to a list; false if no number of 64 bits has it.
  bool add_to(NumberList& list) const {
    const char *const first = text.data(), *const last = first + text.size();
    if (whole) {
      if (count <= few) return negative ? list.add_negative(-std::int64_t(digits)) : list.add_whole(digits);
      std::int64_t value = 0;
      std::uint64_t size = 0;
      if (negative) return std::from_chars(first, last, value).ec == std::errc() && list.add_negative(value);
      return std::from_chars(first, last, size).ec == std::errc() && list.add_whole(size);
    }
    // both are exact then, so that one operation rounds correctly
    constexpr double powers[]{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    constexpr int largest = int(std::size(powers)) - 1;
    if (count <= few && digits <= std::uint64_t{1} << 53 && exponent >= -largest && exponent <= largest) {
      const double size = exponent < 0 ? double(digits) / powers[-exponent] : double(digits) * powers[exponent];
      return list.add_real(negative ? -size : size, text);
    }
    double value = 0;
    return std::from_chars(first, last, value).ec == std::errc() && list.add_real(value, text);
  }

 private:
  static constexpr int few = 18;  // digits that 64 bits have in any case

  void take(char digit) { digits = digits * 10 + std::uint64_t(digit - '0'), ++count; }
};
}  // namespace detail

/// Adds the numbers of an array to a list, at most `most`, from behind its bracket or a comma. Returns where reading
/// goes on: at the closing bracket, or at the value, space, or end that it leaves to a reader of all of JSON, which is
/// to expect a first value there.
inline const char* read_plain_numbers(const char* at, const char* end, std::size_t most, NumberList& list) {
  using namespace detail;
  for (; most; --most) {
    PlainNumber number;
    const char* after = number.read(after_space(at, end), end);
    if (!after || (after = after_space(after, end)) == end) return at;
    if (*after == ']') return number.add_to(list) ? after : at;
    if (*after != ',') return at;
    const char* const next = after_space(after + 1, end);
    if (next == end || *next == ']' || !number.add_to(list)) return at;
    at = next;
  }
  return at;
}

}  // namespace tenon::serving
