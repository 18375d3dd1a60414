// Linear algebra of stacks of matrices: the formulas as in a book, in long double.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>
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

namespace kernel::reference {

/// A matrix, row by row.
struct Matrix {
  long rows, columns;
  std::vector<long double> element;
  Matrix(long r, long c) : rows(r), columns(c), element(std::size_t(r * c)) {}
  template <class T>
  Matrix(const T* from, long r, long c) : rows(r), columns(c), element(from, from + r * c) {}
  long double& at(long i, long j) { return element[std::size_t(i * columns + j)]; }
  void exchange(long i, long j) {
    for (long k = 0; k < columns; ++k) std::swap(at(i, k), at(j, k));
  }
};
inline Matrix transposed(Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (long i = 0; i < a.rows; ++i)
    for (long j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  return t;
}
template <class T>
void write(const Matrix& m, T* to, bool valid = true) {
  for (std::size_t i = 0; i < m.element.size(); ++i)
    to[i] = valid ? rounded<T>(m.element[i]) : std::numeric_limits<T>::quiet_NaN();
}
/// Gauss and Jordan: x of a x = b in the place of b, and the pivots on the diagonal of a. Returns the sign of the
/// exchanges of rows, 0 for a singular matrix.
inline int gauss_jordan(Matrix& a, Matrix& b) {
  int sign = 1;
  for (long k = 0; k < a.rows; ++k) {
    long pivot = k;
    for (long i = k + 1; i < a.rows; ++i)
      if (std::fabs(a.at(i, k)) > std::fabs(a.at(pivot, k))) pivot = i;
    if (pivot != k) a.exchange(k, pivot), b.exchange(k, pivot), sign = -sign;
    if (a.at(k, k) == 0) return 0;
    for (long i = 0; i < a.rows; ++i) {
      if (i == k) continue;
      const long double factor = a.at(i, k) / a.at(k, k);
      for (long j = k; j < a.columns; ++j) a.at(i, j) -= factor * a.at(k, j);
      for (long j = 0; j < b.columns; ++j) b.at(i, j) -= factor * b.at(k, j);
    }
  }
  for (long i = 0; i < b.rows; ++i)
    for (long j = 0; j < b.columns; ++j) b.at(i, j) /= a.at(i, i);
  return sign;
}

/// Base of a kernel that calls Work::matrix<Call>(a, i, n) for each matrix.
template <class Work>
struct EachMatrix : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const long n = Call::operand(0).last();
    TensorType stack = Call::operand(0);
    stack.rank -= 2;
    for (long i = 0; i < stack.count(a.n); ++i) Work::template matrix<Call>(a, i, n);
  }
};

}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::SolveTriangular>
    : kernel::reference::EachMatrix<Kernel<Reference, ops::SolveTriangular>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const long m = Call::result.last();
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), x(a.operand<T>(1) + number * n * m, n, m);
    const bool upper = int(c.side) == 1;
    for (long i = 0; i < n; ++i)
      for (long j = 0; j < n; ++j)
        if (upper ? j < i : j > i) e.at(i, j) = 0;
    if (c.transposed) e = kernel::reference::transposed(e);
    for (long step = 0; step < n; ++step) {
      const long i = upper == (c.transposed != 0) ? step : n - 1 - step;
      for (long j = 0; j < m; ++j) {
        for (long k = 0; k < n; ++k)
          if (k != i && e.at(i, k) != 0) x.at(i, j) -= e.at(i, k) * x.at(k, j);
        if (!c.unit_diagonal) x.at(i, j) /= e.at(i, i);
      }
    }
    kernel::reference::write(x, a.result<T>() + number * n * m);
  }
};
template <>
struct Kernel<Reference, ops::MatrixSolve> : kernel::reference::EachMatrix<Kernel<Reference, ops::MatrixSolve>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    const long m = Call::result.last();
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), x(a.operand<T>(1) + number * n * m, n, m);
    if (Call::config().transposed) e = kernel::reference::transposed(e);
    const bool regular = kernel::reference::gauss_jordan(e, x) != 0;
    kernel::reference::write(x, a.result<T>() + number * n * m, regular);
  }
};
template <>
struct Kernel<Reference, ops::MatrixInverse> : kernel::reference::EachMatrix<Kernel<Reference, ops::MatrixInverse>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), x(n, n);
    for (long i = 0; i < n; ++i) x.at(i, i) = 1;
    const bool regular = kernel::reference::gauss_jordan(e, x) != 0;
    kernel::reference::write(x, a.result<T>() + number * n * n, regular);
  }
};
template <>
struct Kernel<Reference, ops::Cholesky> : kernel::reference::EachMatrix<Kernel<Reference, ops::Cholesky>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), l(n, n);
    bool valid = true;
    for (long i = 0; i < n; ++i)
      for (long j = 0; j <= i; ++j) {
        long double sum = e.at(i, j);
        for (long k = 0; k < j; ++k) sum -= l.at(i, k) * l.at(j, k);
        valid &= i != j || sum > 0;
        l.at(i, j) = i == j ? std::sqrt(sum) : sum / l.at(j, j);
      }
    kernel::reference::write(l, a.result<T>() + number * n * n, valid);
  }
};
template <>
struct Kernel<Reference, ops::Determinant> : kernel::reference::EachMatrix<Kernel<Reference, ops::Determinant>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), none(n, 0);
    const int sign = kernel::reference::gauss_jordan(e, none);
    long double product = sign;
    for (long k = 0; k < n && sign; ++k) product *= e.at(k, k);
    a.result<T>()[number] = kernel::reference::rounded<T>(product);
  }
};
template <>
struct Kernel<Reference, ops::LogDeterminant> : kernel::reference::EachMatrix<Kernel<Reference, ops::LogDeterminant>> {
  template <class Call>
  static void matrix(const Arguments& a, long number, long n) {
    using T = typename Call::Result;
    kernel::reference::Matrix e(a.operand<T>(0) + number * n * n, n, n), none(n, 0);
    const int exchanges = kernel::reference::gauss_jordan(e, none);
    long double sign = exchanges, sum = exchanges ? 0 : -std::numeric_limits<long double>::infinity();
    for (long k = 0; k < n && exchanges; ++k) {
      const long double pivot = e.at(k, k);
      sign = pivot < 0 ? -sign : pivot > 0 ? sign : pivot;
      sum += std::log(std::fabs(pivot));
    }
    a.result<T>()[number] = kernel::reference::rounded<T>(sign);
    if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[number] = kernel::reference::rounded<T>(sum);
  }
};

}  // namespace tenon
TENON_EXACT_END
