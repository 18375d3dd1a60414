// Floating-point numbers as decimal text: the shortest digits that read back as the same number of the same dtype.
#pragma once
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI {

/// A finite number as sign and digits: 0.d₀d₁d₂… · 10^point. Digits end with no zero; zero itself has the digit "0".
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 1;

  /// How many digits follow the decimal point in positional and in scientific notation.
  int positional_fraction() const { return int(digits.size()) > point ? int(digits.size()) - point : 0; }
  int scientific_fraction() const { return int(digits.size()) - 1; }
};

namespace detail {

/// Reads "-1.25e-07" or "-12.50" as std::to_chars writes them.
inline Decimal parsed_decimal(std::string_view s) {
  Decimal d;
  d.negative = s.starts_with('-');
  if (d.negative) s.remove_prefix(1);
  const std::size_t e = s.find('e');
  if (e != s.npos) {
    const std::size_t digits = e + (s[e + 1] == '+' ? 2 : 1);
    std::from_chars(s.data() + digits, s.data() + s.size(), d.point);
    ++d.point;
    s = s.substr(0, e);
  } else {
    d.point = int(s.find('.') == s.npos ? s.size() : s.find('.'));
  }
  for (char c : s)
    if (c != '.') d.digits += c;
  // "0.05": scientific has none
  while (d.digits.size() > 1 && d.digits.starts_with('0')) d.digits.erase(0, 1), --d.point;
  while (d.digits.size() > 1 && d.digits.ends_with('0')) d.digits.pop_back();
  if (d.digits == "0") d.point = 1;
  return d;
}

/// x with `fraction` digits after the point, correctly rounded, ties to even.
inline Decimal rounded_decimal(double x, std::chars_format format, int fraction) {
  char text[400];
  return parsed_decimal({text, std::size_t(std::to_chars(text, text + sizeof text, x, format, fraction).ptr - text)});
}

template <class T>
Decimal shortest_standard(T x) {
  char text[64];
  return parsed_decimal(
      {text, std::size_t(std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr - text)});
}
/// The number in a standard form that std::from_chars reads.
inline std::string readable(const Decimal& d) {
  return (d.negative ? "-0." : "0.") + d.digits + "e" + std::to_string(d.point);
}

/// The next larger number with as many digits, in magnitude.
inline Decimal increased(Decimal d, std::size_t digits) {
  d.digits.resize(digits, '0');
  std::size_t i = digits;
  while (i && d.digits[i - 1] == '9') d.digits[--i] = '0';
  if (i) ++d.digits[i - 1];
  else d.digits.insert(0, 1, '1'), ++d.point;
  while (d.digits.size() > 1 && d.digits.ends_with('0')) d.digits.pop_back();
  return d;
}
/// For the 16-bit types: the fewest digits that read back as x. The nearest number with this many digits can fail where
/// the next one does not: a power of two has less room below it than above.
template <class Half>
Decimal shortest_half(Half x) {
  const auto reads_back = [&](const Decimal& d) {
    const std::string s = readable(d);
    float read = 0;
    std::from_chars(s.data(), s.data() + s.size(), read);
    return Half(read).bits == x.bits;
  };
  for (int digits = 1; digits < 9; ++digits) {
    Decimal nearest = rounded_decimal(float(x), std::chars_format::scientific, digits - 1);
    if (reads_back(nearest)) return nearest;
    if (const Decimal next = increased(nearest, std::size_t(digits)); reads_back(next)) return next;
  }
  return rounded_decimal(float(x), std::chars_format::scientific, 8);
}

}  // namespace detail

/// The shortest digits that read back as x, a finite number of the dtype.
inline Decimal shortest_decimal(double x, Dtype dtype) {
  switch (dtype) {
    case Dtype::float16: return detail::shortest_half(float16(float(x)));
    case Dtype::bfloat16: return detail::shortest_half(bfloat16(float(x)));
    case Dtype::float32: return detail::shortest_standard(float(x));
    default: return detail::shortest_standard(x);
  }
}

/// The shortest digits, or x rounded to `fraction` digits after the point where these are fewer. Whole numbers have
/// all digits: 65504, although 65500 reads back as the same float16.
inline Decimal positional_decimal(double x, Dtype dtype, int fraction) {
  Decimal d = shortest_decimal(x, dtype);
  if (int(d.digits.size()) < d.point) return detail::rounded_decimal(x, std::chars_format::fixed, 0);
  return d.positional_fraction() <= fraction ? d : detail::rounded_decimal(x, std::chars_format::fixed, fraction);
}
/// The same for scientific notation.
inline Decimal scientific_decimal(double x, Dtype dtype, int fraction) {
  Decimal d = shortest_decimal(x, dtype);
  return d.scientific_fraction() <= fraction ? d : detail::rounded_decimal(x, std::chars_format::scientific, fraction);
}
/// All of `fraction` digits after the point: shortest ones are followed by digits of x itself, not by zeros.
inline Decimal full_scientific_decimal(double x, Dtype dtype, int fraction) {
  Decimal d = shortest_decimal(x, dtype);
  return d.scientific_fraction() == fraction ? d : detail::rounded_decimal(x, std::chars_format::scientific, fraction);
}

/// "-12." or "-12.5": the whole part and what follows the point, which always is there.
inline std::string positional_text(const Decimal& d) {
  std::string s = d.negative ? "-" : "";
  if (d.point <= 0) return s + "0." + std::string(std::size_t(-d.point), '0') + d.digits;
  const std::size_t whole = std::size_t(d.point);
  if (d.digits.size() <= whole) return s + d.digits + std::string(whole - d.digits.size(), '0') + ".";
  return s + d.digits.substr(0, whole) + "." + d.digits.substr(whole);
}
/// "-1.25e-07": at least two digits in the exponent.
inline std::string scientific_text(const Decimal& d, std::size_t fraction, std::size_t exponent_digits = 2) {
  const int exponent = d.digits == "0" ? 0 : d.point - 1;
  std::string s = d.negative ? "-" : "", power = std::to_string(exponent < 0 ? -exponent : exponent);
  s += d.digits.substr(0, 1) + "." + d.digits.substr(1);
  if (d.digits.size() - 1 < fraction) s.append(fraction - (d.digits.size() - 1), '0');
  if (power.size() < exponent_digits) power.insert(0, exponent_digits - power.size(), '0');
  return s + (exponent < 0 ? "e-" : "e+") + power;
}

}  // namespace tenon
