// Arithmetic of single elements that the file knows, in the type that they have.
#pragma once
#include "graph.hpp"

namespace importer {

/// A whole number as a type of ONNX holds it, with the bits that fit; nothing if the type is none of whole numbers.
inline std::optional<long> held(long value, int type) {
  switch (type) {
    case 2: return long(static_cast<std::uint8_t>(value));
    case 3: return long(static_cast<std::int8_t>(value));
    case 4: return long(static_cast<std::uint16_t>(value));
    case 5: return long(static_cast<std::int16_t>(value));
    case 6: return long(static_cast<std::int32_t>(value));
    case 7: return value;
    case 9: return long(value != 0);
    case 12: return long(static_cast<std::uint32_t>(value));
    case 13: return value < 0 ? std::nullopt : std::optional(value);
    default: return std::nullopt;
  }
}
/// A real number as a type of whole numbers holds it. Nothing: ONNX does not say what it is.
inline std::optional<long> held(double value, int type) {
  if (type == 9) return long(value != 0);
  const double whole = std::trunc(value);
  if (!(whole >= -0x1p63 && whole < 0x1p63)) return std::nullopt;
  const auto result = held(long(whole), type);
  return result && double(*result) == whole ? result : std::nullopt;
}
/// The same of an extent: a dynamic one fits types of 32 bits and more.
inline std::optional<Extent> held(const Extent& e, int type) {
  if (!e.is_number()) return type == 6 || type == 7 || type >= 12 ? std::optional(e) : std::nullopt;
  const auto result = held(e.factor, type);
  return result ? std::optional(Extent(*result)) : std::nullopt;
}

inline bool is_test(const std::string& op) {
  return op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" || op == "GreaterOrEqual" ||
         op == "And" || op == "Or" || op == "Xor";
}
/// Of numbers: a test, or nothing if the operator is none.
template <class T>
std::optional<bool> tested(const std::string& op, T a, T b) {
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "Greater") return a > b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  return std::nullopt;
}

/// A power of whole numbers; the fraction of one with a negative exponent is dropped.
inline std::optional<long> power(long base, long exponent) {
  if (exponent < 0 && base == 0) return std::nullopt;
  if (exponent < 0) return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
  unsigned long result = 1;
  for (auto square = static_cast<unsigned long>(base); exponent > 0; exponent /= 2, square *= square)
    if (exponent % 2) result *= square;
  return long(result);
}
/// Of whole numbers, which wrap around as those of a processor. Nothing: the operator is none of these, or it is a
/// quotient that stops programs.
inline std::optional<long> computed(const std::string& op, long a, long b, bool is_fmod) {
  const auto x = static_cast<unsigned long>(a), y = static_cast<unsigned long>(b);
  if (op == "Add") return long(x + y);
  if (op == "Sub") return long(x - y);
  if (op == "Mul") return long(x * y);
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Pow") return power(a, b);
  if (op == "Div") return b == 0 ? std::nullopt : std::optional(b == -1 ? long(0 - x) : a / b);
  if (op == "Mod") {
    if (b == 0) return std::nullopt;
    const long rest = b == -1 ? 0 : a % b;
    return !is_fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return std::nullopt;
}
/// The same of extents. What depends on the size of a dynamic axis is not known.
inline std::optional<Extent> computed(const std::string& op, const Extent& a, const Extent& b, bool is_fmod) {
  if (a.is_number() && b.is_number()) {
    if (const auto test = tested(op, a.factor, b.factor)) return Extent(long(*test));
    const auto result = computed(op, a.factor, b.factor, is_fmod);
    return result ? std::optional(Extent(*result)) : std::nullopt;
  }
  if (op == "Mul") return a * b;
  if (op == "Div") return a.over(b);
  if (op == "Equal") {
    if (a == b) return Extent(1);
    const bool has_equal_axes = a.power == b.power, is_below = a.is_number() && a.factor < 1 && b.factor > 0,
               is_above = b.is_number() && b.factor < 1 && a.factor > 0;  // extents are 1 and more
    return has_equal_axes || is_below || is_above ? std::optional(Extent(0)) : std::nullopt;
  }
  if (op != "Add" && op != "Sub") return std::nullopt;
  Extent result = a.factor == 0 ? b : a;
  if (a.power != b.power && b.factor != 0 && (a.factor != 0 || op == "Sub")) return std::nullopt;
  const bool overflows = op == "Add" ? __builtin_add_overflow(a.factor, b.factor, &result.factor)
                                     : __builtin_sub_overflow(a.factor, b.factor, &result.factor);
  if (overflows) return std::nullopt;
  return result.factor == 0 ? Extent(0) : result;
}

/// Of real numbers, rounded as T is. The order of Max and Min does not matter to a NaN: it stays.
template <class T>
std::optional<double> computed_real(const std::string& op, T x, T y, bool is_fmod) {
  if (op == "Add") return double(x + y);
  if (op == "Sub") return double(x - y);
  if (op == "Mul") return double(x * y);
  if (op == "Div") return double(x / y);
  if (op == "Pow") return double(std::pow(x, y));
  if (op == "Mod" && is_fmod) return double(std::fmod(x, y));
  if (op == "Max") return std::isnan(x) || x > y ? double(x) : double(y);
  if (op == "Min") return std::isnan(x) || x < y ? double(x) : double(y);
  const auto test = tested(op, x, y);
  return test ? std::optional(double(*test)) : std::nullopt;
}
/// Functions of one real number.
template <class T>
const std::map<std::string, T (*)(T)>& real_functions() {
  static const std::map<std::string, T (*)(T)> all{
      {"Abs", [](T x) { return std::abs(x); }},
      {"Acos", [](T x) { return std::acos(x); }},
      {"Asin", [](T x) { return std::asin(x); }},
      {"Atan", [](T x) { return std::atan(x); }},
      {"Ceil", [](T x) { return std::ceil(x); }},
      {"Cos", [](T x) { return std::cos(x); }},
      {"Cosh", [](T x) { return std::cosh(x); }},
      {"Erf", [](T x) { return std::erf(x); }},
      {"Exp", [](T x) { return std::exp(x); }},
      {"Floor", [](T x) { return std::floor(x); }},
      {"HardSwish", [](T x) { return x * std::clamp(x / 6 + T(0.5), T(0), T(1)); }},
      {"Log", [](T x) { return std::log(x); }},
      {"Mish", [](T x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Neg", [](T x) { return -x; }},
      {"Reciprocal", [](T x) { return 1 / x; }},
      {"Relu", [](T x) { return x > 0 || std::isnan(x) ? x : 0; }},
      {"Round", [](T x) { return std::nearbyint(x); }},
      {"Sigmoid", [](T x) { return 1 / (1 + std::exp(-x)); }},
      {"Sign", [](T x) { return x > 0   ? T(1)
                                : x < 0 ? T(-1)
                                        : x; }},
      {"Silu", [](T x) { return x / (1 + std::exp(-x)); }},
      {"Sin", [](T x) { return std::sin(x); }},
      {"Sinh", [](T x) { return std::sinh(x); }},
      {"Softplus", [](T x) { return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))); }},
      {"Softsign", [](T x) { return x / (1 + std::abs(x)); }},
      {"Sqrt", [](T x) { return std::sqrt(x); }},
      {"Tan", [](T x) { return std::tan(x); }},
      {"Tanh", [](T x) { return std::tanh(x); }},
  };
  return all;
}
template <class T>
std::optional<double> computed_real(const std::string& op, T x) {
  const auto function = real_functions<T>().find(op);
  return function == real_functions<T>().end() ? std::nullopt : std::optional(double(function->second(x)));
}
/// Functions of one whole number.
inline std::optional<long> computed(const std::string& op, long x) {
  const long negated = long(0 - static_cast<unsigned long>(x));
  if (op == "Neg") return negated;
  if (op == "Abs") return x < 0 ? negated : x;
  if (op == "Not") return long(x == 0);
  if (op == "Sign") return long(x > 0) - long(x < 0);
  if (op == "Relu") return std::max(x, 0l);
  return std::nullopt;
}

}  // namespace importer
