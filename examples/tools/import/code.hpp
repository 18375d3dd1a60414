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

/// A pair of extents: one number if both are equal.
inline std::string pair_text(const std::string& role, long h, long w) {
  if (h == w) return number(role, h);
  return "Pair(" + number(role + "H", h) + ", " + number(role + "W", w) + ")";
}

/// Windows of an image, as Conv and pools have them.
struct Windows {
  std::vector<long> kernel, stride, dilation, pads;  // pads: top, left, bottom, right

  Windows(const NodeView& n, std::vector<long> window) : kernel(std::move(window)) {
    const std::size_t axes = kernel.size();
    stride = n.list("strides", axes, 1);
    dilation = n.list("dilations", axes, 1);
    pads = n.list("pads", 2 * axes, 0);
    const std::string automatic = n.word("auto_pad", "NOTSET");
    if (automatic != "NOTSET" && automatic != "" && automatic != "VALID")
      n.refuse("auto_pad is not read; export it with explicit pads");
    for (std::size_t k = 0; k < axes; ++k)
      if (kernel[k] < 1 || stride[k] < 1 || dilation[k] < 1 || pads[k] < 0 || pads[axes + k] < 0 ||
          std::max({kernel[k], stride[k], dilation[k], pads[k], pads[axes + k]}) > 1'000'000)
        n.refuse("its windows are damaged");
  }
  bool has_padding() const {
    return std::any_of(pads.begin(), pads.end(), [](long pad) { return pad != 0; });
  }
  std::string padding() const {
    if (std::all_of(pads.begin(), pads.end(), [&](long pad) { return pad == pads[0]; }))
      return number("Padding", pads[0]);
    return "Padding(" + std::to_string(pads[0]) + ", " + std::to_string(pads[2]) + ", " + std::to_string(pads[1]) +
           ", " + std::to_string(pads[3]) + ")";
  }
  /// Whether the padding is that of PadMode::same for every extent of an image.
  bool is_same() const {
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      const long reach = dilation[k] * (kernel[k] - 1);
      if (stride[k] != 1 || reach % 2 != 0 || pads[k] != reach / 2 || pads[kernel.size() + k] != reach / 2)
        return false;
    }
    return true;
  }
  /// The extents of the result.
  Shape result(const NodeView& n, const Shape& x, long channels, bool ceil = false) const {
    Shape shape{x[0], Extent(channels)};
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      if (!x[2 + k].is_number()) n.refuse("the size of its image depends on a dynamic axis: give it one size");
      const long room = x[2 + k].factor + pads[k] + pads[kernel.size() + k] - dilation[k] * (kernel[k] - 1) - 1;
      if (room < 0) n.refuse("its windows are larger than its image");
      if (ceil && room % stride[k] != 0) n.refuse("ceil_mode leaves a window that is not whole");
      shape.push_back(Extent(room / stride[k] + 1));
    }
    return shape;
  }
};

}  // namespace importer
