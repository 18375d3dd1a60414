// The error function, without branches, as in core/math/elementary.hpp, which has its complement.
#pragma once
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// erf x, within 1.2 ulp: near zero x times a polynomial in x² (error 1e-9), else 1 - exp(-p(|x|)), p = -ln erfc (error
/// 2e-8).
[[gnu::always_inline]] TENON_DEVICE inline float erf(float x) {
  const float size = __builtin_fabsf(x), square = x * x;
  const float near = fmadd(size,
                           detail::polynomial({0.12837917f, -0.37612626f, 0.11283594f, -0.026854211f, 0.0051890872f,
                                               -0.00080168643f, 7.875875e-05f},
                                              square),
                           size);
  const float cut = size > 4.0f ? 4.0f : size;
  const float exponent = detail::polynomial({-0.00031853965f, 1.130231f, 0.6318239f, 0.110087164f, -0.026427638f,
                                             0.004762626f, -0.00059758575f, 4.616386e-05f, -1.6430637e-06f},
                                            cut);
  return __builtin_copysignf(detail::choose(size < 1.0f, near, 1.0f - exp(-exponent)), x);
}
TENON_DEVICE inline double erf(double x) { return tenon::detail::libm::erf(x); }

}  // namespace tenon::math
TENON_EXACT_END
