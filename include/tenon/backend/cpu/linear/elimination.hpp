// Triangular factors of matrices in double, and systems of equations with them. Each element is one chain of fused
// multiply-adds in a fixed order, however rows are grouped.
#pragma once
#include <algorithm>
#include <limits>

#include <tenon/core/math/elementary.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Rows that are subtracted from others: rows[k * row + j], of which factor[k * step] is subtracted.
struct Subtrahend {
  const double* factor;
  long step;
  const double* rows;
  long row, count;
  Subtrahend times(const double* other) const { return {other, step, rows, row, count}; }
};
/// to[j] -= factor[k * step] * rows[k * row + j], for all k in ascending order. The same for more `targets`: rows that
/// are `distance` after `to`, whose factors are `between` after those of the first.
template <int targets = 1>
void subtract_rows(double* to, const Subtrahend& s, long width, long distance = 0, long between = 0) {
  using V = Simd<double>;
  constexpr long lanes = V::width, together = 4;
  long j = 0;
  for (; j + together * lanes <= width; j += together * lanes) {
    V sum[targets][together];
    for (int t = 0; t < targets; ++t)
      for (long v = 0; v < together; ++v) sum[t][v] = V::load(to + t * distance + j + v * lanes);
    for (long k = 0; k < s.count; ++k) {
      V minus[targets];
      for (int t = 0; t < targets; ++t) minus[t] = V(-s.factor[t * between + k * s.step]);
      for (long v = 0; v < together; ++v) {
        const V own = V::load(s.rows + k * s.row + j + v * lanes);
        for (int t = 0; t < targets; ++t) sum[t][v] = fmadd(minus[t], own, sum[t][v]);
      }
    }
    for (int t = 0; t < targets; ++t)
      for (long v = 0; v < together; ++v) sum[t][v].store(to + t * distance + j + v * lanes);
  }
  for (int t = 0; t < targets; ++t) {
    double* const own = to + t * distance;
    const double* const factor = s.factor + t * between;
    long i = j;
    for (; i + lanes <= width; i += lanes) {
      V sum = V::load(own + i);
      for (long k = 0; k < s.count; ++k) sum = fmadd(V(-factor[k * s.step]), V::load(s.rows + k * s.row + i), sum);
      sum.store(own + i);
    }
    for (; i < width; ++i) {
      double sum = own[i];
      for (long k = 0; k < s.count; ++k) sum = fmadd(-factor[k * s.step], s.rows[k * s.row + i], sum);
      own[i] = sum;
    }
  }
}

/// Divides each element by a number.
inline void divide(double* x, long count, double by) {
  using V = Simd<double>;
  long i = 0;
  for (; i + V::width <= count; i += V::width) (V::load(x + i) / V(by)).store(x + i);
  for (; i < count; ++i) x[i] /= by;
}

/// The distance of rows of n doubles: whole cache lines, an odd number of them, so that rows do not share cache sets.
constexpr long row_distance(long n) {
  const long lines = (n + 7) / 8;
  return 8 * (lines % 2 ? lines : lines + 1);
}
/// f(first, width) for groups of columns, whose rows stay in the cache.
template <class F>
void each_group(long columns, F f) {
  constexpr long group = 32;
  for (long first = 0; first < columns; first += group) f(first, columns - first < group ? columns - first : group);
}

/// What is known of a matrix after its elimination.
struct Elimination {
  bool singular = false;  // then its factors are of no use
  bool negative = false;  // an odd number of rows was exchanged
};

/// The determinant of an eliminated matrix, whose pivots are its diagonal: `step` apart.
TENON_DEVICE inline double product_of_pivots(const double* a, long n, long step, Elimination e) {
  double product = e.singular ? 0 : e.negative ? -1 : 1;
  for (long k = 0; k < n && !e.singular; ++k) product *= a[k * step];
  return product;
}
/// Its sign, and the logarithm of its absolute value.
template <class T>
struct LogOfPivots {
  T sign, log;
  TENON_DEVICE LogOfPivots(const double* a, long n, long step, Elimination e)
      : sign(e.singular   ? T(0)
             : e.negative ? T(-1)
                          : T(1)),
        log(-std::numeric_limits<T>::infinity()) {
    double sum = 0;
    for (long k = 0; k < n && !e.singular; ++k) {
      const T pivot = static_cast<T>(a[k * step]);
      sign = pivot < T(0) ? -sign : pivot > T(0) ? sign : pivot;  // NaN remains
      sum += static_cast<double>(math::log(pivot < T(0) ? -pivot : pivot));
    }
    if (!e.singular) log = static_cast<T>(sum);
  }
};

/// A matrix [n, n], and [n, m] that belong to it, with the distances of their rows. The panel has room for
/// `panel_columns` columns of the matrix.
struct LinearSystem {
  static constexpr long panel_columns = 16;
  double* a;
  long n, row;
  double* x;
  long m, x_row;
  double* panel;

  double* at(long i, long j) const { return a + i * row + j; }
  void exchange(long one, long other, long begin, long end) const {
    std::swap_ranges(at(one, begin), at(one, end), at(other, begin));
  }

  /// The triangular factors of the matrix in its place: above the diagonal and on it the upper one, below it the lower
  /// one, whose diagonal is 1. Rows of x are exchanged with those of the matrix.
  Elimination eliminate() const {
    Elimination e;
    for (long first = 0; first < n && !e.singular; first += panel_columns) {
      const long end = first + panel_columns < n ? first + panel_columns : n, rest = n - end;
      eliminate_panel(first, end, e);
      if (!rest || e.singular) continue;
      long i = first + 1;
      for (; i < end; ++i) subtract_rows(at(i, end), {at(i, first), 1, at(first, end), row, i - first}, rest);
      const Subtrahend whole{nullptr, 1, at(first, end), row, end - first};
      for (; i + 1 < n; i += 2) subtract_rows<2>(at(i, end), whole.times(at(i, first)), rest, row, row);
      if (i < n) subtract_rows(at(i, end), whole.times(at(i, first)), rest);
    }
    return e;
  }
  /// The same of the columns first .. end - 1, side by side in the panel, with the exchanges of rows in all others.
  void eliminate_panel(long first, long end, Elimination& e) const {
    const long height = n - first, width = end - first;
    const auto column = [&](long j) { return panel + j * row_distance(n); };
    for (long i = 0; i < height; ++i)
      for (long j = 0; j < width; ++j) column(j)[i] = *at(first + i, first + j);
    for (long k = 0; k < width; ++k) {
      double* const own = column(k);
      long pivot = k;
      for (long i = k + 1; i < height; ++i)
        if (__builtin_fabs(own[i]) > __builtin_fabs(own[pivot])) pivot = i;
      if (pivot != k) {
        for (long j = 0; j < width; ++j) std::swap(column(j)[k], column(j)[pivot]);
        exchange(first + k, first + pivot, 0, first);
        exchange(first + k, first + pivot, end, n);
        std::swap_ranges(x + (first + k) * x_row, x + (first + k) * x_row + m, x + (first + pivot) * x_row);
        e.negative = !e.negative;
      }
      const double by = own[k];
      if (!(by != 0)) return void(e.singular = true);
      divide(own + k + 1, height - k - 1, by);
      for (long j = k + 1; j < width; ++j)
        subtract_rows(column(j) + k + 1, {column(j) + k, 0, own + k + 1, 0, 1}, height - k - 1);
    }
    for (long i = 0; i < height; ++i)
      for (long j = 0; j < width; ++j) *at(first + i, first + j) = column(j)[i];
  }
  /// x of  l x = b  in the place of b, with the triangle below the diagonal: chains in ascending order of columns.
  void solve_lower(bool unit_diagonal) const {
    each_group(m, [&](long first, long width) {
      for (long i = 0; i < n; i += 2) {
        double* const own = x + i * x_row + first;
        const Subtrahend before{at(i, 0), 1, x + first, x_row, i};
        if (i + 1 < n) subtract_rows<2>(own, before, width, x_row, row);
        else subtract_rows(own, before, width);
        if (!unit_diagonal) divide(own, width, *at(i, i));
        if (i + 1 == n) break;
        subtract_rows(own + x_row, {at(i + 1, i), 1, own, x_row, 1}, width);
        if (!unit_diagonal) divide(own + x_row, width, *at(i + 1, i + 1));
      }
    });
  }
  /// The same with the triangle above the diagonal, in descending order.
  void solve_upper(bool unit_diagonal) const {
    each_group(m, [&](long first, long width) {
      for (long i = n - 1; i >= 0; i -= 2) {
        double* const own = x + i * x_row + first;
        const Subtrahend after{at(i, n - 1), -1, x + (n - 1) * x_row + first, -x_row, n - 1 - i};
        if (i > 0) subtract_rows<2>(own, after, width, -x_row, -row);
        else subtract_rows(own, after, width);
        if (!unit_diagonal) divide(own, width, *at(i, i));
        if (i == 0) break;
        subtract_rows(own - x_row, {at(i - 1, i), 1, own, x_row, 1}, width);
        if (!unit_diagonal) divide(own - x_row, width, *at(i - 1, i - 1));
      }
    });
  }
  /// The upper triangular u with  uᵀ u = a  in the place of the upper triangle of a; false if a is not positive
  /// definite.
  bool factor_cholesky() const {
    bool valid = true;
    each_group(n, [&](long first, long width) {
      for (long i = 0; i < first + width && valid; ++i) {
        const long begin = i > first ? i : first, end = first + width;
        subtract_rows(at(i, begin), {at(0, i), row, at(0, begin), row, i}, end - begin);
        if (i >= first) {
          valid = *at(i, i) > 0;
          *at(i, i) = math::sqrt(*at(i, i));
        }
        const double root = *at(i, i);
        divide(at(i, begin + (i >= first)), end - begin - (i >= first), root);
      }
    });
    return valid;
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END
