// Polynomials of elementary functions.
#pragma once
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math::detail {

/// c[0] + c[1] x + c[2] x² + ..., highest power first.
template <class T, int N>
[[gnu::always_inline]] TENON_DEVICE inline T polynomial(const T (&c)[N], T x) {
  T sum = c[N - 1];
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) sum = fmadd(sum, x, c[i]);
  return sum;
}

}  // namespace tenon::math::detail
TENON_EXACT_END
