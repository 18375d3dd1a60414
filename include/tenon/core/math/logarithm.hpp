// Logarithms to base 2 and 10, without branches, as in core/math/elementary.hpp.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

namespace detail {
// ln(1 + f) of LogarithmParts to a base whose 1 / ln is high + low, plus `whole`.
[[gnu::always_inline]] TENON_DEVICE inline float to_base(LogarithmParts of, float high, float low, float whole) {
  const float square = of.f * of.f, tail = fmadd(of.f * square, of.series, square * -0.5f);
  return fmadd(of.f, high, fmadd(of.f, low, fmadd(tail, high, whole)));
}
}  // namespace detail

/// The logarithm to base 2, within 1.1 ulp (1.6 without a fused multiply-add); exact for powers of two.
[[gnu::always_inline]] TENON_DEVICE inline float log2(float x) {
  const auto of = detail::logarithm_parts(x);
  return detail::logarithm_limits(x, of.n + detail::to_base(of, 1.44269502f, 1.92596303e-8f, 0));
}
TENON_DEVICE inline double log2(double x) { return tenon::detail::libm::log2(x); }

/// The logarithm to base 10, within 1 ulp (1.5 without a fused multiply-add). log10 2 is in two
/// parts; the first has few digits.
[[gnu::always_inline]] TENON_DEVICE inline float log10(float x) {
  const auto of = detail::logarithm_parts(x);
  const float rest = detail::to_base(of, 0.434294492f, -1.01030484e-8f, of.n * 0x1.3509f8p-18f);
  return detail::logarithm_limits(x, fmadd(of.n, 0x1.344p-2f, rest));
}
TENON_DEVICE inline double log10(double x) { return tenon::detail::libm::log10(x); }

}  // namespace tenon::math
TENON_EXACT_END
