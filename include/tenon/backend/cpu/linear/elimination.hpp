// Triangular factors of matrices in double, and systems of equations with them. The order of each sum is fixed
// (backend/order.hpp), however rows and columns are grouped.
#pragma once
#include <algorithm>
#include <limits>

#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/linear/subtract.hpp>
#include <tenon/backend/order.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Divides each element by a number.
inline void divide(double* x, long count, double by) {
  using V = Simd<double>;
  long i = 0;
  for (; i + V::width <= count; i += V::width) (V::load(x + i) / V(by)).store(x + i);
  for (; i < count; ++i) x[i] /= by;
}

/// The distance of rows of n doubles: whole cache lines, an odd number of them, so that rows do not share cache sets.
constexpr long row_distance(long n) {
  const long lines = (n + padded_doubles - 1) / padded_doubles;
  return padded_doubles * (lines % 2 ? lines : lines + 1);
}

/// Rows or columns that are eliminated, or solved, one by one; more of them are halved.
inline constexpr long elimination_block = 16;
constexpr long halved(long begin, long end) {
  const long blocks = (end - begin + elimination_block - 1) / elimination_block;
  return blocks < 2 ? end : begin + (blocks + 1) / 2 * elimination_block;
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
    if (e.singular) return;
    double sum = 0;
    for (long first = 0; first < n; first += elimination_segment) {
      double chain = 0;
      for (long k = first; k < n && k < first + elimination_segment; ++k) {
        const T pivot = static_cast<T>(a[k * step]);
        sign = pivot < T(0) ? -sign : pivot > T(0) ? sign : pivot;  // NaN remains
        chain += static_cast<double>(math::log(pivot < T(0) ? -pivot : pivot));
      }
      sum += chain;
    }
    log = static_cast<T>(sum);
  }
};

/// Systems with a triangular matrix, whose rows are known one after the other: row i of x, `x_row` apart, is that of
/// the right side minus the sum of  factor[i * between + k * step] x[k]  over k < i, by the diagonal if that is no
/// unit. `between`, `step` and `x_row` are negative where the last row is known first.
struct TriangularRows {
  const double* factor;
  long between, step;
  double* x;
  long x_row, m;
  bool unit_diagonal;
  double* room;  // of subtract()

  void solve(long n) const {
    for (long begin = 0; begin < n; begin += elimination_segment) {
      const long end = begin + elimination_segment < n ? begin + elimination_segment : n;
      for (long k = 0; k < begin; k += elimination_segment)
        subtract_known(begin, end, k, k + elimination_segment, Chain::apart);
      solve_rows(begin, end);
    }
  }

 private:
  Subtrahend known(long i, long k, long count) const {
    return {factor + i * between + k * step, between, step, x + k * x_row, x_row, count};
  }
  // What rows first .. last - 1 add to rows begin .. end - 1.
  void subtract_known(long begin, long end, long first, long last, Chain chain) const {
    subtract(x + begin * x_row, end - begin, x_row, m, known(begin, first, last - first), chain, room);
  }
  // Rows from which all before are subtracted already.
  void solve_rows(long begin, long end) const {
    if (const long middle = halved(begin, end); middle < end) {
      solve_rows(begin, middle);
      subtract_known(middle, end, begin, middle, Chain::continues);
      return solve_rows(middle, end);
    }
    for (long i = begin; i < end; ++i) {
      subtract(x + i * x_row, m, known(i, begin, i - begin));
      if (!unit_diagonal) divide(x + i * x_row, m, factor[i * between + i * step]);
    }
  }
};

/// A matrix [n, n], and [n, m] that belong to it, with the distances of their rows, which are padded. The panel has
/// room for `panel_doubles`.
struct LinearSystem {
  static constexpr long panel_distance(long n) { return row_distance(n + padded_doubles - 1); }
  static constexpr long panel_doubles(long n) {
    constexpr long columns = SubtractTile::columns > elimination_block ? SubtractTile::columns : elimination_block;
    return columns * panel_distance(n);
  }
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
    for (long first = 0; first < n && !e.singular; first += elimination_segment) {
      const long end = first + elimination_segment < n ? first + elimination_segment : n;
      eliminate_columns(first, end, e);
      if (end < n && !e.singular) subtract_eliminated(first, end, end, n, Chain::apart);
    }
    return e;
  }
  /// x of  l x = b  in the place of b, with the triangle below the diagonal.
  void solve_lower(bool unit_diagonal) const { TriangularRows{a, row, 1, x, x_row, m, unit_diagonal, panel}.solve(n); }
  /// The same with the triangle above the diagonal.
  void solve_upper(bool unit_diagonal) const {
    TriangularRows{at(n - 1, n - 1), -row, -1, x + (n - 1) * x_row, -x_row, m, unit_diagonal, panel}.solve(n);
  }
  /// The upper triangular u with  uᵀ u = a  in the place of the upper triangle of a, with other numbers below it.
  /// False if a is not positive definite.
  bool factor_cholesky() const {
    for (long begin = 0; begin < n; begin += elimination_block) {
      const long end = begin + elimination_block < n ? begin + elimination_block : n,
                 last = begin / elimination_segment * elimination_segment;
      const auto above = [&](long i, long k, long count) {
        return Subtrahend{at(k, i), 1, row, at(k, begin), row, count};
      };
      const auto subtract_above = [&](long k, long count, Chain chain) {
        subtract(at(begin, begin), end - begin, row, n - begin, above(begin, k, count), chain, panel);
      };
      for (long k = 0; k < last; k += elimination_segment) subtract_above(k, elimination_segment, Chain::apart);
      subtract_above(last, begin - last, Chain::continues);
      for (long i = begin; i < end; ++i) {
        subtract(at(i, begin), n - begin, above(i, begin, i - begin));
        const double square = *at(i, i);
        if (!(square > 0)) return false;
        *at(i, i) = math::sqrt(square);
        divide(at(i, i + 1), n - i - 1, *at(i, i));
      }
    }
    return true;
  }

 private:
  // The columns first .. end - 1 of one segment, after whose elimination the rows of all others are exchanged, too.
  void eliminate_columns(long first, long end, Elimination& e) const {
    const long middle = halved(first, end);
    if (middle == end) return eliminate_panel(first, end, e);
    eliminate_columns(first, middle, e);
    if (e.singular) return;
    subtract_eliminated(first, middle, middle, end, Chain::continues);
    eliminate_columns(middle, end, e);
  }
  // Brings the columns begin .. end - 1 to where the columns first .. last - 1 are.
  void subtract_eliminated(long first, long last, long begin, long end, Chain chain) const {
    TriangularRows{at(first, first), row, 1, at(first, begin), row, end - begin, true, panel}.solve(last - first);
    const Subtrahend s{at(last, first), row, 1, at(first, begin), row, last - first};
    subtract(at(last, begin), n - last, row, end - begin, s, chain, panel);
  }
  // Side by side in the panel.
  void eliminate_panel(long first, long end, Elimination& e) const {
    const long height = n - first, width = end - first, distance = panel_distance(n);
    detail::transpose_copy(at(first, first), row, panel, distance, height, width, height + padded_doubles - 1);
    for (long k = 0; k < width && !e.singular; ++k) {
      double* const own = panel + k * distance;
      for (long j = 0; j + 1 < k; ++j)
        for (long i = j + 1; i < k; ++i) own[i] = fmadd(-panel[j * distance + i], own[j], own[i]);
      subtract(own + k, height - k, {own, 0, 1, panel + k, distance, k});
      const long pivot = pivot_of(own, k, height);
      if (pivot != k) {
        for (long j = 0; j < width; ++j) std::swap(panel[j * distance + k], panel[j * distance + pivot]);
        exchange(first + k, first + pivot, 0, first);
        exchange(first + k, first + pivot, end, n);
        std::swap_ranges(x + (first + k) * x_row, x + (first + k) * x_row + m, x + (first + pivot) * x_row);
        e.negative = !e.negative;
      }
      if (!(own[k] != 0)) e.singular = true;
      else divide(own + k + 1, height - k - 1, own[k]);
    }
    detail::transpose_copy(panel, distance, at(first, first), row, width, height, width);
  }
  // The first of the largest elements from k on; k if that is NaN.
  static long pivot_of(const double* own, long k, long height) {
    using V = Simd<double>;
    const auto size = [](auto v) { return max(v, -v); };
    V most(__builtin_fabs(own[k]));
    long i = k;
    for (; i + V::width <= height; i += V::width) {
      const V v = V::load(own + i), s = size(v);
      most = choose_greater(s, most, s, most);
    }
    double largest = __builtin_fabs(own[k]);
    for (int l = 0; l < V::width; ++l) largest = most[l] > largest ? most[l] : largest;
    for (; i < height; ++i) largest = __builtin_fabs(own[i]) > largest ? __builtin_fabs(own[i]) : largest;
    for (i = k; i < height; ++i)
      if (__builtin_fabs(own[i]) == largest) return i;
    return k;
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END
