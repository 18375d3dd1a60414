// Small pieces of code: numbers, settings of cells.
#pragma once
#include <charconv>

#include "graph.hpp"

namespace importer {

/// A real number as C++ writes it: the shortest that gives the same float32.
inline std::string real_text(double value) {
  if (std::isinf(value))
    return value < 0 ? "-std::numeric_limits<float>::infinity()" : "std::numeric_limits<float>::infinity()";
  if (std::isnan(value)) return "std::numeric_limits<float>::quiet_NaN()";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, float(value)).ptr;
  std::string result(buffer, end);
  if (result.find_first_of(".e") == result.npos) return result + ".0f";
  return result + "f";
}
/// The same, but whole numbers without a point: next to a tensor they have its type.
inline std::string whole_or_real_text(double value) {
  const bool is_minus_zero = value == 0 && std::signbit(value);  // -0 is the whole number 0
  return !is_minus_zero && value == std::floor(value) && std::abs(value) < 1e6 ? std::to_string(long(value))
                                                                               : real_text(value);
}
/// What multiplies a tensor with a number: " * 0.3f", or " / 4" if that is the same.
inline std::string factor_text(double value) {
  const double inverse = 1 / value;
  int exponent = 0;
  const bool is_power =
      std::abs(inverse) > 1 && std::abs(inverse) < 1e6 && std::frexp(std::abs(inverse), &exponent) == 0.5;
  return is_power ? " / " + whole_or_real_text(inverse) : " * " + whole_or_real_text(value);
}
/// A float64 as C++ writes it.
inline std::string double_text(double value) {
  if (!std::isfinite(value)) return real_text(value);
  char buffer[64];
  const std::string result(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  return result.find_first_of(".e") == result.npos ? result + ".0" : result;
}
/// A scalar constant as an operand of x.
inline std::string scalar_text(const Value& v) {
  if (!is_real_type(v.type)) {
    const long value = v.whole_scalar();
    if (value == std::numeric_limits<long>::min()) return "std::numeric_limits<std::int64_t>::min()";
    return std::to_string(value);
  }
  if (v.type == 11 && whole_or_real_text(v.scalar()).ends_with('f')) return double_text(v.scalar());
  return whole_or_real_text(v.scalar());
}

/// Settings in braces: those that differ from the defaults.
class Settings {
 public:
  Settings& add(std::string_view name, const std::string& value) {
    text_ += (text_.empty() ? "." : ", .") + std::string(name) + " = " + value;
    return *this;
  }
  bool empty() const { return text_.empty(); }
  /// "nn::Conv2dConfig{...}", after a comma; nothing without settings.
  std::string after_comma(std::string_view type) const {
    return text_.empty() ? "" : ", " + std::string(type) + "{" + text_ + "}";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace importer
