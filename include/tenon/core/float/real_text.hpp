// Reals as texts of a wanted precision, with a point in every locale: printf follows the program's, where it may be a
// comma.
#pragma once
#include <string>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <charconv>
#endif

namespace tenon::inline TENON_ABI::detail {

/// x with this many digits after the point, as printf's %.2f.
std::string in_fixed_digits(double x, int digits);
/// x with this many digits, as printf's %.7g.
std::string in_digits(double x, int digits);
/// x with this many digits after the point and an exponent, as printf's %.3e.
std::string in_scientific(double x, int digits);

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] inline std::string rounded_text(double x, std::chars_format format, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, x, format, digits).ptr};
}
TENON_INLINE std::string in_fixed_digits(double x, int digits) {
  return rounded_text(x, std::chars_format::fixed, digits);
}
TENON_INLINE std::string in_digits(double x, int digits) { return rounded_text(x, std::chars_format::general, digits); }
TENON_INLINE std::string in_scientific(double x, int digits) {
  return rounded_text(x, std::chars_format::scientific, digits);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
