// Reals as texts of a wanted precision, with a point in every locale: printf follows the program's, where it may be a
// comma.
#pragma once
#include <charconv>
#include <string>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

[[gnu::cold, gnu::noinline]] inline std::string rounded_text(double x, std::chars_format format, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, x, format, digits).ptr};
}
/// x with so many digits behind the point, as printf's %.2f.
inline std::string in_fixed_digits(double x, int digits) { return rounded_text(x, std::chars_format::fixed, digits); }
/// x with so many digits, as printf's %.7g.
inline std::string in_digits(double x, int digits) { return rounded_text(x, std::chars_format::general, digits); }

}  // namespace tenon::detail
