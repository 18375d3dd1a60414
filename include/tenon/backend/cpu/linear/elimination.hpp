// Triangular factors of matrices in double, and systems of equations with them. Each element is one chain of fused
// multiply-adds in ascending order, however rows are grouped.
#pragma once
#include <algorithm>
#include <limits>

#include <tenon/core/math/elementary.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// to[j] -= factor[k * step] * rows[k * stride + j], for all k in ascending order.
inline void subtract_rows(double* to, const double* factor, long step, const double* rows, long stride, long count,
                          long width) {
  using V = Simd<double>;
  constexpr long lanes = V::width, together = 4;
  long j = 0;
  for (; j + together * lanes <= width; j += together * lanes) {
    V sum[together];
    for (long v = 0; v < together; ++v) sum[v] = V::load(to + j + v * lanes);
    for (long k = 0; k < count; ++k) {
      const V minus(-factor[k * step]);
      for (long v = 0; v < together; ++v) sum[v] = fmadd(minus, V::load(rows + k * stride + j + v * lanes), sum[v]);
    }
    for (long v = 0; v < together; ++v) sum[v].store(to + j + v * lanes);
  }
  for (; j + lanes <= width; j += lanes) {
    V sum = V::load(to + j);
    for (long k = 0; k < count; ++k) sum = fmadd(V(-factor[k * step]), V::load(rows + k * stride + j), sum);
    sum.store(to + j);
  }
  for (; j < width; ++j) {
    double sum = to[j];
    for (long k = 0; k < count; ++k) sum = fmadd(-factor[k * step], rows[k * stride + j], sum);
    to[j] = sum;
  }
}

/// What is known of a matrix after its elimination.
struct Elimination {
  bool singular = false;  // then its factors are of no use
  bool negative = false;  // an odd number of rows was exchanged
};

/// The determinant of an eliminated matrix [n, n], whose pivots are its diagonal.
TENON_DEVICE inline double product_of_pivots(const double* a, long n, Elimination e) {
  double product = e.singular ? 0 : e.negative ? -1 : 1;
  for (long k = 0; k < n && !e.singular; ++k) product *= a[k * n + k];
  return product;
}
/// Its sign, and the logarithm of its absolute value.
template <class T>
struct LogOfPivots {
  T sign, log;
  TENON_DEVICE LogOfPivots(const double* a, long n, Elimination e)
      : sign(e.singular   ? T(0)
             : e.negative ? T(-1)
                          : T(1)),
        log(-std::numeric_limits<T>::infinity()) {
    double sum = 0;
    for (long k = 0; k < n && !e.singular; ++k) {
      const T pivot = static_cast<T>(a[k * n + k]);
      sign = pivot < T(0) ? -sign : pivot > T(0) ? sign : pivot;  // NaN remains
      sum += static_cast<double>(math::log(pivot < T(0) ? -pivot : pivot));
    }
    if (!e.singular) log = static_cast<T>(sum);
  }
};

/// The triangular factors of a matrix [n, n] in its place: above the diagonal and on it the upper one, below it the
/// lower one, whose diagonal is 1. Rows of x [n, m] are exchanged with those of the matrix.
inline Elimination eliminate(double* a, long n, double* x, long m) {
  constexpr long panel = 32;
  Elimination e;
  for (long first = 0; first < n; first += panel) {
    const long end = first + panel < n ? first + panel : n, rest = n - end;
    for (long k = first; k < end; ++k) {
      long pivot = k;
      for (long i = k + 1; i < n; ++i)
        if (__builtin_fabs(a[i * n + k]) > __builtin_fabs(a[pivot * n + k])) pivot = i;
      if (pivot != k) {
        std::swap_ranges(a + k * n, a + k * n + n, a + pivot * n);
        std::swap_ranges(x + k * m, x + k * m + m, x + pivot * m);
        e.negative = !e.negative;
      }
      const double by = a[k * n + k];
      if (!(by != 0)) return e.singular = true, e;
      for (long i = k + 1; i < n; ++i) {
        const double factor = a[i * n + k] / by;
        a[i * n + k] = factor;
        for (long j = k + 1; j < end; ++j) a[i * n + j] = fmadd(-factor, a[k * n + j], a[i * n + j]);
      }
    }
    for (long i = first + 1; i < n && rest; ++i) {
      const long count = i < end ? i - first : end - first;
      subtract_rows(a + i * n + end, a + i * n + first, 1, a + first * n + end, n, count, rest);
    }
  }
  return e;
}

/// x of  l x = b  in the place of b [n, m], with the triangle of a [n, n] below its diagonal.
inline void solve_lower(const double* a, long n, double* x, long m, bool unit_diagonal) {
  for (long i = 0; i < n; ++i) {
    subtract_rows(x + i * m, a + i * n, 1, x, m, i, m);
    if (!unit_diagonal)
      for (long j = 0; j < m; ++j) x[i * m + j] /= a[i * n + i];
  }
}
/// The same with the triangle above the diagonal.
inline void solve_upper(const double* a, long n, double* x, long m, bool unit_diagonal) {
  for (long i = n; i-- > 0;) {
    subtract_rows(x + i * m, a + i * n + i + 1, 1, x + (i + 1) * m, m, n - 1 - i, m);
    if (!unit_diagonal)
      for (long j = 0; j < m; ++j) x[i * m + j] /= a[i * n + i];
  }
}

/// The upper triangular u with  uᵀ u = a  in the place of the upper triangle of a; false if a is not positive definite.
inline bool factor_cholesky(double* a, long n) {
  for (long i = 0; i < n; ++i) {
    subtract_rows(a + i * n + i, a + i, n, a + i, n, i, n - i);
    if (!(a[i * n + i] > 0)) return false;
    const double root = math::sqrt(a[i * n + i]);
    a[i * n + i] = root;
    for (long j = i + 1; j < n; ++j) a[i * n + j] /= root;
  }
  return true;
}

}  // namespace tenon::kernel
TENON_EXACT_END
