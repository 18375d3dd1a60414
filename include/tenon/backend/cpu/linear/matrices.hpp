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
  static constexpr long items(long n) {
    return C::operand(0).count(n) / (extent<C> * extent<C>);
  }
  template <class C>
  static constexpr long cost(long) {
    return extent<C> * extent<C> * (extent<C> + columns<C>) / 4;
  }
  template <class C>
  static constexpr long workspace(long) {
    return extent<C> * (extent<C> + columns<C>)*long(sizeof(double));
  }
};
template <class T>
inline void widen(const T* from, double* to, long count) {
  for (long i = 0; i < count; ++i) to[i] = from[i];
}
template <class T>
inline void widen_transposed(const T* from, double* to, long n) {
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j) to[j * n + i] = from[i * n + j];
}
template <class T>
inline void narrow(const double* from, T* to, long count, bool valid = true) {
  for (long i = 0; i < count; ++i) to[i] = valid ? static_cast<T>(from[i]) : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace kernel

template <>
struct Kernel<Cpu, ops::SolveTriangular> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr long n = extent<Call>, m = columns<Call>;
    double *const matrix = reinterpret_cast<double*>(a.workspace), *const x = matrix + n * n;
    for (long i = begin; i < end; ++i) {
      if (c.transposed) kernel::widen_transposed(a.operand<T>(0) + i * n * n, matrix, n);
      else kernel::widen(a.operand<T>(0) + i * n * n, matrix, n * n);
      kernel::widen(a.operand<T>(1) + i * n * m, x, n * m);
      if ((int(c.side) == 1) == (c.transposed != 0)) kernel::solve_lower(matrix, n, x, m, c.unit_diagonal);
      else kernel::solve_upper(matrix, n, x, m, c.unit_diagonal);
      kernel::narrow(x, a.result<T>() + i * n * m, n * m);
    }
  }
};

template <>
struct Kernel<Cpu, ops::MatrixSolve> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long n = extent<Call>, m = columns<Call>;
    double *const matrix = reinterpret_cast<double*>(a.workspace), *const x = matrix + n * n;
    for (long i = begin; i < end; ++i) {
      if (Call::config().transposed) kernel::widen_transposed(a.operand<T>(0) + i * n * n, matrix, n);
      else kernel::widen(a.operand<T>(0) + i * n * n, matrix, n * n);
      kernel::widen(a.operand<T>(1) + i * n * m, x, n * m);
      const bool singular = kernel::eliminate(matrix, n, x, m).singular;
      if (!singular) kernel::solve_lower(matrix, n, x, m, true), kernel::solve_upper(matrix, n, x, m, false);
      kernel::narrow(x, a.result<T>() + i * n * m, n * m, !singular);
    }
  }
};

template <>
struct Kernel<Cpu, ops::MatrixInverse> : kernel::OnMatrices<true> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long n = extent<Call>;
    double *const matrix = reinterpret_cast<double*>(a.workspace), *const x = matrix + n * n;
    for (long i = begin; i < end; ++i) {
      kernel::widen(a.operand<T>(0) + i * n * n, matrix, n * n);
      for (long k = 0; k < n * n; ++k) x[k] = k % (n + 1) == 0;
      const bool singular = kernel::eliminate(matrix, n, x, n).singular;
      if (!singular) kernel::solve_lower(matrix, n, x, n, true), kernel::solve_upper(matrix, n, x, n, false);
      kernel::narrow(x, a.result<T>() + i * n * n, n * n, !singular);
    }
  }
};

template <>
struct Kernel<Cpu, ops::Cholesky> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long n = extent<Call>;
    double* const matrix = reinterpret_cast<double*>(a.workspace);
    for (long i = begin; i < end; ++i) {
      kernel::widen_transposed(a.operand<T>(0) + i * n * n, matrix, n);
      const bool valid = kernel::factor_cholesky(matrix, n);
      T* const y = a.result<T>() + i * n * n;
      for (long row = 0; row < n; ++row)
        for (long k = 0; k < n; ++k)
          y[row * n + k] = !valid    ? std::numeric_limits<T>::quiet_NaN()
                           : k > row ? T(0)
                                     : static_cast<T>(matrix[k * n + row]);
    }
  }
};

template <>
struct Kernel<Cpu, ops::Determinant> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long n = extent<Call>;
    double* const matrix = reinterpret_cast<double*>(a.workspace);
    for (long i = begin; i < end; ++i) {
      kernel::widen(a.operand<T>(0) + i * n * n, matrix, n * n);
      const kernel::Elimination e = kernel::eliminate(matrix, n, nullptr, 0);
      a.result<T>()[i] = static_cast<T>(kernel::product_of_pivots(matrix, n, e));
    }
  }
};

template <>
struct Kernel<Cpu, ops::LogDeterminant> : kernel::OnMatrices<false> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long n = extent<Call>;
    double* const matrix = reinterpret_cast<double*>(a.workspace);
    for (long i = begin; i < end; ++i) {
      kernel::widen(a.operand<T>(0) + i * n * n, matrix, n * n);
      const kernel::Elimination e = kernel::eliminate(matrix, n, nullptr, 0);
      const kernel::LogOfPivots<T> y(matrix, n, e);
      a.result<T>()[i] = y.sign;
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[i] = y.log;
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
