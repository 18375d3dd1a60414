// The Cholesky factor of positive definite matrices, and systems of equations with it: cholesky, cholesky_solve.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/solve_triangular.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The lower triangular matrix l with a positive diagonal for which  l lᵀ = a.
///
/// a           [..., N, N], symmetric and positive definite; float32 or float64. Only the lower triangle is read
/// result      as a. A matrix that is not positive definite gives NaN in all elements; PyTorch raises an error
/// derivative  symmetric: half of s + sᵀ, where  s = l⁻ᵀ p l⁻¹.  p is the lower triangle of lᵀ dl, with
///             half of its diagonal
/// order       in float64, chains of at most 256 fused multiply-adds in ascending order of columns
///             (backend/order.hpp), rounded once
/// source      MindSpore's and PyTorch's cholesky
struct Cholesky : Operator<Cholesky, "Cholesky"> {
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const NoConfig&, long n) {
    return double(result.count(n)) * in[0].last() / 3;
  }
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    detail::check_square("Cholesky", in[0], error);
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    const int l = d.result(), half = d.constant(0.5), product = detail::matrix_product(d, l, d.gradient(), true, false);
    // both triangles have the diagonal
    const int p = d.call<Mul>(
        half, d.call<Add>(d.call_with<Triangle>({0, 0, 0}, product), d.call_with<Triangle>({0, -1, 0}, product)));
    const int left = d.call_with<SolveTriangular>({Side::lower, 1, 0}, l, p);
    Transpose::Config swap{d.result_type().rank, {}};
    for (int k = 0; k < swap.axes; ++k) swap.order[k] = k < swap.axes - 2 ? k : 2 * swap.axes - 3 - k;
    const int s = d.call_with<SolveTriangular>({Side::lower, 1, 0}, l, d.call_with<Transpose>(swap, left));
    d.flows_to(0, d.call<Mul>(half, d.call<Add>(s, d.call_with<Transpose>(swap, s))));
  }
};

/// The lower triangular matrix l with  l lᵀ = a.
constexpr auto cholesky(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return apply<Cholesky>(at, a);
}
/// x of  l lᵀ x = b: `cholesky_solve(b, cholesky(a))`. The order of operands is PyTorch's and MindSpore's.
template <Operand B, Operand L>
constexpr auto cholesky_solve(const B& b, const L& l, std::source_location at = std::source_location::current()) {
  return solve_triangular<TriangularConfig{.transposed = 1}>(l, solve_triangular(l, b, at), at);
}

}  // namespace tenon::ops
