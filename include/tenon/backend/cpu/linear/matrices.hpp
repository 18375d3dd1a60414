// Linear algebra of stacks of small matrices: a matrix is computed in double, and rounded once.
#pragma once
#include <limits>

#include <tenon/backend/cpu/linear/elimination.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Cholesky;
struct Determinant;
struct LogDeterminant;
struct MatrixInverse;
struct MatrixSolve;
struct SolveTriangular;
}  // namespace ops

namespace kernel {

/// Base of a kernel with an item for each matrix [N, N]. The workspace of a thread holds it in double, and the [N, M]
/// that belong to it.
template <bool has_columns>
struct OnMatrices {
  template <class C>
  static constexpr long extent = C::operand(0).last();
  template <class C>
  static constexpr long columns = has_columns ? C::result.last() : 0;
  template <class C>
  static constexpr long system_doubles = extent<C> * (row_distance(extent<C>) + row_distance(columns<C>));
  template <class C>
  static constexpr long doubles = system_doubles<C> + LinearSystem::panel_doubles(extent<C>);
  template <class C>
  static constexpr long items(long n) {
    TensorType stack = C::operand(0);
    stack.rank -= 2;
    return stack.count(n);
  }
  template <class C>
  static constexpr long cost(long) {
    return extent<C> * extent<C> * (extent<C> + columns<C>) / 4;
  }
  template <class C>
  static constexpr long workspace(long) {
    return doubles<C> * long(sizeof(double));
  }
  template <class C>
  static LinearSystem system(const Arguments& a) {
    double* const matrix = reinterpret_cast<double*>(a.workspace);
    constexpr long n = extent<C>, row = row_distance(n);
    return {matrix, n, row, matrix + n * row, columns<C>, row_distance(columns<C>), matrix + system_doubles<C>};
  }
};
template <class T>
void widen(const T* from, long rows, long columns, double* to, long row) {
  for (long i = 0; i < rows; ++i) {
    for (long j = 0; j < columns; ++j) to[i * row + j] = from[i * columns + j];
    clear(to + i * row + columns, row - columns);
  }
}
template <class T>
void widen_matrix(const T* from, bool transposed, const LinearSystem& s) {
  if (!transposed) return widen(from, s.n, s.n, s.a, s.row);
  for (long i = 0; i < s.n; ++i) {
    for (long j = 0; j < s.n; ++j) s.a[j * s.row + i] = from[i * s.n + j];
    clear(s.a + i * s.row + s.n, s.row - s.n);
  }
}
template <class T>
void narrow(const LinearSystem& s, bool valid, T* to) {
  for (long i = 0; i < s.n; ++i)
    for (long j = 0; j < s.m; ++j)
      to[i * s.m + j] = valid ? static_cast<T>(s.x[i * s.x_row + j]) : std::numeric_limits<T>::quiet_NaN();
}

/// Solves a system whose matrix and right sides are there; NaN if the matrix is singular.
template <class T>
void solve(const LinearSystem& s, T* to) {
  const bool singular = s.eliminate().singular;
  if (!singular) s.solve_lower(true), s.solve_upper(false);
  narrow(s, !singular, to);
}

}  // namespace kernel

template <>
struct Kernel<Cpu, ops::SolveTriangular> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, c.transposed, s);
      kernel::widen(a.operand<T>(1) + i * s.n * s.m, s.n, s.m, s.x, s.x_row);
      if ((int(c.side) == 1) == (c.transposed != 0)) s.solve_lower(c.unit_diagonal);
      else s.solve_upper(c.unit_diagonal);
      kernel::narrow(s, true, a.result<T>() + i * s.n * s.m);
    }
  }
};

template <>
struct Kernel<Cpu, ops::MatrixSolve> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, Call::config().transposed, s);
      kernel::widen(a.operand<T>(1) + i * s.n * s.m, s.n, s.m, s.x, s.x_row);
      kernel::solve(s, a.result<T>() + i * s.n * s.m);
    }
  }
};

template <>
struct Kernel<Cpu, ops::MatrixInverse> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, false, s);
      for (long row = 0; row < s.n; ++row)
        for (long k = 0; k < s.x_row; ++k) s.x[row * s.x_row + k] = row == k;
      kernel::solve(s, a.result<T>() + i * s.n * s.n);
    }
  }
};

template <>
struct Kernel<Cpu, ops::Cholesky> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, true, s);
      const bool valid = s.factor_cholesky();
      T* const y = a.result<T>() + i * s.n * s.n;
      for (long row = 0; row < s.n; ++row)
        for (long k = 0; k < s.n; ++k)
          y[row * s.n + k] = !valid    ? std::numeric_limits<T>::quiet_NaN()
                             : k > row ? T(0)
                                       : static_cast<T>(*s.at(k, row));
    }
  }
};

template <>
struct Kernel<Cpu, ops::Determinant> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, false, s);
      const kernel::Elimination e = s.eliminate();
      a.result<T>()[i] = static_cast<T>(kernel::product_of_pivots(s.a, s.n, s.row + 1, e));
    }
  }
};

template <>
struct Kernel<Cpu, ops::LogDeterminant> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::LinearSystem s = system<Call>(a);
    for (long i = begin; i < end; ++i) {
      kernel::widen_matrix(a.operand<T>(0) + i * s.n * s.n, false, s);
      const kernel::Elimination e = s.eliminate();
      const kernel::LogOfPivots<T> y(s.a, s.n, s.row + 1, e);
      a.result<T>()[i] = y.sign;
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[i] = y.log;
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
