// The logarithm of the gamma function and its derivatives, digamma and trigamma.
#pragma once
#include <tenon/core/math/float64.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/rounding.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

// All in float64, without branches, and the same on each processor with a fused multiply-add and on GPUs. Below 1/2 the
// functions are reflected to y = 1 - x, and below 8 their recurrences lead to y + 8, where 8 terms of the series of
// Stirling are enough.
namespace detail::gamma {
using float64::choose, float64::detail::infinity, float64::detail::nan;
/// sin πx and cos πx of x = n + f, without the sign of n; errors of the polynomials 7e-19 and 4e-18.
struct Turn {
  double sine, cosine;
};
[[gnu::always_inline]] TENON_DEVICE inline Turn half_turns(double x) {
  const double f = x - round(x), square = f * f;
  return {f * polynomial(
                  {3.141592653589793, -5.167712780049969, 2.5501640398773007, -0.5992645293189447, 0.0821458865731029,
                   -0.007370430505916944, 0.0004662998161898394, -2.1903497074626018e-05, 7.697826768224191e-07},
                  square),
          polynomial({1.0, -4.934802200544676, 4.058712126416497, -1.335262768843447, 0.23533063012953284,
                      -0.025806888737002202, 0.0019295562724817132, -0.00010456655338748738, 4.149564353942586e-06},
                     square)};
}
/// y = 1 - x where x < 1/2, else x; z = y + 8 where y < 8, else y.
struct Place {
  bool reflected, low;
  double y, z;
};
[[gnu::always_inline]] TENON_DEVICE inline Place place(double x) {
  const bool reflected = x < 0.5;
  const double y = choose(reflected, 1.0 - x, x);
  const bool low = y < 8;
  return {reflected, low, y, choose(low, y + 8.0, y)};
}
}  // namespace detail::gamma

/// ln |Γ(x)|, within 2 ulp of float32: infinity at 0, at negative whole numbers, and at either infinity.
[[gnu::always_inline]] TENON_DEVICE inline float lgamma(float of) {
  using namespace detail::gamma;
  const double x = static_cast<double>(of);
  const Place at = place(x);
  double product = at.y;  // Γ(y + 8) / Γ(y)
#pragma GCC unroll 8
  for (int k = 1; k < 8; ++k) product *= at.y + static_cast<double>(k);
  const double inverse = 1.0 / at.z;
  const double series = inverse * detail::polynomial({1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                                                      -691.0 / 360360, 1.0 / 156, -3617.0 / 122400},
                                                     inverse * inverse);
  const double stirling = (at.z - 0.5) * float64::log(at.z) - at.z + (0.91893853320467274178 + series);
  product = choose(at.low, product, 1.0);
  const double sine = detail::magnitude(half_turns(x).sine);
  const double logarithm = float64::log(choose(at.reflected, 3.141592653589793 * product / sine, product));
  const double value = choose(at.reflected, logarithm - stirling, stirling - logarithm);
  const bool pole = ((sine == 0) & at.reflected) | (x == infinity) | (x == -infinity);
  return static_cast<float>(choose(pole, infinity, choose((x == 1) | (x == 2), 0.0, value)));
}
TENON_DEVICE inline double lgamma(double x) { return tenon::detail::libm::lgamma(x); }

/// The derivative of lgamma, within 1e-15 absolutely or relatively: -infinity at 0 (infinity at -0), NaN at negative
/// whole numbers and at -infinity.
[[gnu::always_inline]] TENON_DEVICE inline double digamma(double x) {
  using namespace detail::gamma;
  const Place at = place(x);
  double product = at.y, slope = 1;  // Γ(y + 8) / Γ(y) and its derivative
#pragma GCC unroll 8
  for (int k = 1; k < 8; ++k) {
    const double factor = at.y + static_cast<double>(k);
    slope = fmadd(slope, factor, product);
    product *= factor;
  }
  const double inverse = 1.0 / at.z, square = inverse * inverse;
  const double series = square * detail::polynomial({1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                                                     -691.0 / 32760, 1.0 / 12, -3617.0 / 8160},
                                                    square);
  const double far = float64::log(at.z) - (0.5 * inverse + series);
  const double value = far - choose(at.low, slope, 0.0) / choose(at.low, product, 1.0);
  const Turn angle = half_turns(x);
  const double reflection = 3.141592653589793 * angle.cosine / angle.sine;
  const double result = choose(at.reflected, value - reflection, value);
  const bool pole = (angle.sine == 0) & at.reflected;
  return choose(x == 0, signed_as(infinity, -x), choose(pole | (x == -infinity), nan, result));
}
[[gnu::always_inline]] TENON_DEVICE inline float digamma(float x) {
  return static_cast<float>(digamma(static_cast<double>(x)));
}

/// The derivative of digamma: infinity at 0 and at negative whole numbers, NaN at -infinity.
[[gnu::always_inline]] TENON_DEVICE inline double trigamma(double x) {
  using namespace detail::gamma;
  const Place at = place(x);
  double sum = 0;
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const double part = 1.0 / (at.y + static_cast<double>(k));
    sum = fmadd(part, part, sum);
  }
  const double inverse = 1.0 / at.z, square = inverse * inverse;
  const double series =
      square * inverse *
      detail::polynomial({1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510},
                         square);
  const double value = choose(at.low, sum, 0.0) + (inverse + (0.5 * square + series));
  const double part = 3.141592653589793 / half_turns(x).sine;
  return choose(at.reflected, part * part - value, value);
}
[[gnu::always_inline]] TENON_DEVICE inline float trigamma(float x) {
  return static_cast<float>(trigamma(static_cast<double>(x)));
}

}  // namespace tenon::math
TENON_EXACT_END
