// Folding of constants: the operator's own eval, run by the compiler.
#pragma once
#include <limits>

#include <tenon/core/math/convert.hpp>
#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// Beyond these sizes a product or quotient could overflow or become a denormal, which kernels flush: that is left to
// them.
template <class T>
constexpr bool foldable(double v) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double low = static_cast<double>(std::numeric_limits<T>::lowest()), bound = 0x1p31;
    return v >= (low < -bound ? -bound : low) && v < bound && v <= static_cast<double>(std::numeric_limits<T>::max());
  } else {
    constexpr double bound = sizeof(T) == 8 ? 0x1p500 : 0x1p60;
    const double size = v < 0 ? -v : v;
    return v == 0 || (size < bound && size > 1 / bound);
  }
}
// As constant_bytes rounds: 16-bit floats by way of float.
template <class T>
constexpr T constant_as(double v) {
  if constexpr (is_half<T>) return T(static_cast<float>(v));
  else return static_cast<T>(v);
}
template <class Op, class T, int Operands>
constexpr double folded_as(double a, double b) {
  constexpr double left_to_kernel = std::numeric_limits<double>::quiet_NaN();
  if (!foldable<T>(a) || !foldable<T>(b)) return left_to_kernel;
  const T x = constant_as<T>(a), y = constant_as<T>(b);
  T result{};
  if constexpr (Operands == 1) result = static_cast<T>(Op::evaluate(x));
  else if constexpr (requires { requires tenon::detail::is_set(Op::zero_divisor); }) {
    if (static_cast<double>(y) == 0) return left_to_kernel;
    result = static_cast<T>(Op::evaluate(x, y));
  } else result = static_cast<T>(Op::evaluate(x, y));
  const double value = static_cast<double>(result);
  if constexpr (std::is_integral_v<T>) return foldable<T>(value) ? value : left_to_kernel;
  else return value;
}
}  // namespace detail

/// Op on constants of dtype d, rounded as its kernel rounds. NaN where it must be left to the kernel.
template <class Op, int Operands>
constexpr double folded(Dtype d, double a, double b) {
  switch (d) {
    case Dtype::float16: return detail::folded_as<Op, float16, Operands>(a, b);
    case Dtype::bfloat16: return detail::folded_as<Op, bfloat16, Operands>(a, b);
    case Dtype::float32: return detail::folded_as<Op, float, Operands>(a, b);
    case Dtype::float64: return detail::folded_as<Op, double, Operands>(a, b);
    case Dtype::int32: return detail::folded_as<Op, std::int32_t, Operands>(a, b);
    case Dtype::int64: return detail::folded_as<Op, std::int64_t, Operands>(a, b);
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace tenon::ops
