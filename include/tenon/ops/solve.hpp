// Systems of linear equations, and inverse matrices: solve, inverse.
#pragma once
#include <tenon/ops/solve_triangular.hpp>

namespace tenon::inline TENON_ABI::ops {

/// x of the systems of equations  a x = b, or aᵀ x = b. Operands: a, b.
///
/// a           [..., N, N]; float32 or float64
/// b           [..., N, M]
/// result      as b. A singular matrix gives NaN in all elements; PyTorch raises an error
/// derivative  db = the solution of the transposed system for dx; da = -db xᵀ
/// order       elimination of rows in float64; the pivot is the first of the largest elements of its column. Chains of
///             fused multiply-adds in ascending order of columns, of at most 256 steps (backend/order.hpp), and as in
///             SolveTriangular; rounded once
/// source      PyTorch's linalg.solve, MindSpore's matrix_solve
struct MatrixSolve : Operator<MatrixSolve, "MatrixSolve"> {
  struct Config {
    int transposed = 0;
  };
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return double(in[0].count(n)) * in[0].last() * 2 / 3 + 2 * double(result.count(n)) * in[0].last();
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::check_system("MatrixSolve", in[0], in[1], error);
    return in[1];
  }
  static constexpr void derivative(Derivative& d) {
    const bool transposed = d.config<MatrixSolve>().transposed != 0;
    const int db = d.call_with<MatrixSolve>({!transposed}, d.operand(0), d.gradient()), x = d.result();
    const int da =
        transposed ? detail::matrix_product(d, x, db, false, true) : detail::matrix_product(d, db, x, false, true);
    d.flows_to(0, d.call<Neg>(da));
    d.flows_to(1, db);
  }
};

/// The inverse y of each matrix.
///
/// a           [..., N, N]; float32 or float64
/// result      as a. A singular matrix gives NaN in all elements; PyTorch raises an error
/// derivative  -yᵀ dy yᵀ
/// order       as MatrixSolve with the unit matrix
/// source      MindSpore's and PyTorch's inverse
struct MatrixInverse : Operator<MatrixInverse, "MatrixInverse"> {
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const NoConfig&, long n) {
    return 2 * double(in[0].count(n)) * in[0].last();
  }
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    detail::check_square("MatrixInverse", in[0], error);
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    const int y = d.result(), left = detail::matrix_product(d, y, d.gradient(), true, false);
    d.flows_to(0, d.call<Neg>(detail::matrix_product(d, left, y, false, true)));
  }
};

/// x of  a x = b: `solve(a, b)`. b is [..., N, M] or [..., N]; leading extents broadcast.
constexpr auto solve(const Operand auto& a, const Operand auto& b,
                     std::source_location at = std::source_location::current()) {
  return detail::solved<MatrixSolve, MatrixSolve::Config{}>(at, a, b);
}
/// The inverse of each matrix of [..., N, N].
constexpr auto inverse(const Operand auto& a, std::source_location at = std::source_location::current()) {
  return apply<MatrixInverse>(at, a);
}

}  // namespace tenon::ops
