// A number as text.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Whether a real number that no type can say, as from_chars has read it, is too near to 0, and not too large.
inline bool is_near_zero(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size()), first = digits.find_first_of("123456789");
  long exponent = 0;
  if (e + 1 < number.size()) {
    const char* const begin = number.data() + e + (number[e + 1] == '+' ? 2 : 1);
    if (std::from_chars(begin, number.data() + number.size(), exponent).ec != std::errc{}) return *begin == '-';
  }
  return exponent < static_cast<long>(first) - static_cast<long>(point);
}

/// Whether all of the text is one number. Reals: also inf and nan; what is nearer to 0 than T can say becomes 0.
template <class T>
bool number_from(std::string_view text, T& number) {
  const char *begin = text.data(), *end = begin + text.size();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error == std::errc{}) return stop == end && begin != end;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    long double wide = 0;  // from_chars does not say whether a number is too large or too near to 0
    if (error != std::errc::result_out_of_range || !number_from(text, wide) || std::abs(wide) > 1) return false;
    number = static_cast<T>(wide);
    return true;
  } else if constexpr (std::is_same_v<T, long double>) {
    if (error != std::errc::result_out_of_range || stop != end) return false;
    number = *begin == '-' ? -0.0L : 0.0L;
    return is_near_zero({begin, stop});
  }
  return false;
}

/// A field as an element, without blanks around it. False if it is none, or does not fit. bool: 0, 1, false, true.
template <Element T>
bool value_from(std::string_view text, T& value) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(first);
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(blanks) + 1, text.size()));
  if constexpr (std::is_same_v<T, bool>) {
    const auto is = [&](std::string_view word) {
      return std::ranges::equal(text, word, {}, [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    };
    value = text == "1" || is("true");
    return value || text == "0" || is("false");
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    float single = 0;
    if (!number_from(text, single)) return false;
    value = T(single);
    return true;
  } else {
    return number_from(text, value);
  }
}

}  // namespace tenon::dataset::detail
