// Determinants of matrices: det, slogdet, logdet.
#pragma once
#include <limits>
#include <tuple>

#include <tenon/ops/compare.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/solve.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// [...] of matrices [..., N, N].
constexpr TensorType per_matrix(std::string_view who, const TensorType& a, Sentence& error) {
  check_square(who, a, error);
  return error.empty() ? MatMul::stack_of(a) : a;
}
/// A number for each matrix of type a, as [..., 1, 1].
constexpr int beside_matrices(Derivative& d, int number, TensorType a) {
  a.extent[a.rank - 2] = a.extent[a.rank - 1] = 1;
  return d.call_with<Reshape>(Reshape::to(a), number);
}
/// The inverse of operand 0, transposed, times a number for each matrix.
constexpr int scaled_inverse(Derivative& d, int number) {
  Transpose::Config swap{d.type(0).rank, {}};
  for (int k = 0; k < swap.axes; ++k) swap.order[k] = k < swap.axes - 2 ? k : 2 * swap.axes - 3 - k;
  const int inverse = d.call_with<Transpose>(swap, d.call<MatrixInverse>(d.operand(0)));
  return d.call<Mul>(beside_matrices(d, number, d.type(0)), inverse);
}
}  // namespace detail

/// The determinant of each matrix.
///
/// a           [..., N, N]; float32 or float64
/// result      [...]
/// derivative  dy y a⁻ᵀ, hence NaN for a singular matrix
/// order       the product of the pivots of MatrixSolve in ascending order, in float64, rounded once
/// source      MindSpore's and PyTorch's det
struct Determinant : Operator<Determinant, "Det"> {
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const NoConfig&, long n) {
    return double(in[0].count(n)) * in[0].last() * 2 / 3;
  }
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    return detail::per_matrix("Det", in[0], error);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, detail::scaled_inverse(d, d.call<Mul>(d.gradient(), d.result())));
  }
};

/// The sign of the determinant of each matrix, and the logarithm of its absolute value.
///
/// a           [..., N, N]; float32 or float64
/// results     [...] each; 0 and -inf for a singular matrix
/// derivative  of the logarithm dy a⁻ᵀ, hence NaN for a singular matrix; none of the sign
/// order       the sum of the logarithms of the pivots of MatrixSolve, which are rounded to the dtype, in ascending
///             order, in float64, in chains of 256, added one after the other
/// source      MindSpore's and PyTorch's slogdet
struct LogDeterminant : Operator<LogDeterminant, "LogMatrixDeterminant"> {
  static constexpr bool per_sample = true;
  static constexpr int returns = 2;
  static constexpr double flops(const OperandTypes& in, const TensorType& y, const NoConfig& c, long n) {
    return Determinant::flops(in, y, c, n);
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType y = detail::per_matrix("LogMatrixDeterminant", in[0], error);
    return {y, y};
  }
  static constexpr void derivative(Derivative& d) {
    if (d.has_gradient(1)) d.flows_to(0, detail::scaled_inverse(d, d.gradient(1)));
    else d.no_gradient(0);
  }
};

/// The determinant of each matrix of [..., N, N].
constexpr auto det(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return apply<Determinant>(at, a);
}
/// Sign and logarithm of the absolute value of the determinant: `const auto [sign, log] = slogdet(a);`
constexpr auto slogdet(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return apply<LogDeterminant>(at, a);
}
/// The logarithm of the determinant; NaN where it is negative.
constexpr auto logdet(const Operand auto& a, std::source_location at = std::source_location::current()) {
  const auto both = apply<LogDeterminant>(at, a);
  const auto& sign = std::get<0>(both);
  if constexpr (is_broken<decltype(sign)>) return sign;
  else return select(less(sign, 0, at), std::numeric_limits<float>::quiet_NaN(), std::get<1>(both), at);
}

}  // namespace tenon::ops
