// Systems of linear equations with a triangular matrix: solve_triangular.
#pragma once
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/triangle.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Writes what is wrong with square matrices.
constexpr void check_square(std::string_view who, const TensorType& a, Sentence& error) {
  if (a.dtype != Dtype::float32 && a.dtype != Dtype::float64)
    error << who << " needs float32 or float64, got " << tenon::name(a.dtype) << " " << a << ": cast it";
  else if (a.rank < 2 || a.last() < 0 || a[a.rank - 2] != a.last())
    error << who << " needs square matrices [...,N,N] with a fixed N, got " << a;
}
/// Writes what is wrong with systems of equations  a x = b.
constexpr void check_system(std::string_view who, const TensorType& a, const TensorType& b, Sentence& error) {
  check_square(who, a, error);
  if (!error.empty()) return;
  bool fit = a.rank == b.rank && a.dtype == b.dtype;
  for (int axis = 0; fit && axis < a.rank - 1; ++axis) fit = a[axis] == b[axis];
  if (!fit)
    error << who << " of " << tenon::name(a.dtype) << " " << a << " and " << tenon::name(b.dtype) << " " << b
          << ": it needs [...,N,N] and [...,N,M] or [...,N] of one dtype";
}
/// A matrix product in a derivative.
constexpr int matrix_product(Derivative& d, int a, int b, bool transposes_a, bool transposes_b) {
  return d.call_with<MatMul>(MatMul::transposed(transposes_a, transposes_b), a, b);
}

/// The common leading extents of two stacks of matrices; rank 0 if there are none, or these do not broadcast.
constexpr TensorType common_stack(const TensorType& a, const TensorType& b) {
  TensorType t;
  if (a.rank < 2 || b.rank < 2 || !broadcast(MatMul::stack_of(a), MatMul::stack_of(b), t)) t.rank = 0;
  return t;
}
/// Matrices of type x with other leading extents.
constexpr TensorType with_stack(const TensorType& x, TensorType stack) {
  stack.dtype = x.dtype;
  stack.extent[stack.rank++] = x[x.rank - 2];
  stack.extent[stack.rank++] = x.last();
  return stack;
}
template <TensorType wanted, class X>
constexpr auto repeated_to(const std::source_location& at, const X& x) {
  if constexpr (X::dims.same_shape(wanted)) return x;
  else return apply<BroadcastTo, SumTo::to(wanted)>(at, x);
}
/// Whether b is a vector for each matrix of a.
constexpr bool has_vectors(const TensorType& a, const TensorType& b) {
  bool vectors = a.rank >= 2 && b.rank == a.rank - 1;
  for (int axis = 0; vectors && axis < b.rank; ++axis) vectors = a[axis] == b[axis];
  return vectors || (b.rank == 1 && a.rank >= 2);
}
/// Op for a system of equations: a vector b is a column, leading extents broadcast.
template <class Op, auto Config, class A, class B>
constexpr auto solved(const std::source_location& at, const A& a, const B& b) {
  if constexpr (is_broken<A> || is_broken<B>) return apply<Op, Config>(at, a, b);
  else if constexpr (has_vectors(A::dims, B::dims)) {
    const auto x = solved<Op, Config>(at, a, expand_dims<-1>(b, at));
    if constexpr (is_broken<decltype(x)>) return x;
    else return squeeze<-1>(x, at);
  } else {
    constexpr TensorType stack = common_stack(A::dims, B::dims);
    if constexpr (stack.rank == 0 || A::dims.dtype != B::dims.dtype) return apply<Op, Config>(at, a, b);
    else
      return apply<Op, Config>(at, repeated_to<with_stack(A::dims, stack)>(at, a),
                               repeated_to<with_stack(B::dims, stack)>(at, b));
  }
}
}  // namespace detail

/// Which triangle of a matrix is read.
enum class Side : int { lower, upper };

/// Settings of solve_triangular: the other triangle is not read, nor is the diagonal of a `unit_diagonal`.
struct TriangularConfig {
  Side side = Side::lower;
  int transposed = 0, unit_diagonal = 0;
};

/// x of the systems of equations  a x = b, or aᵀ x = b, whose matrices are triangular. Operands: a, b.
///
/// a           [..., N, N]; float32 or float64
/// b           [..., N, M]
/// result      as b. A zero on the diagonal gives infinities and NaN, as in PyTorch
/// derivative  db = the solution of the transposed system for dx; da = the read triangle of -db xᵀ
/// order       in float64, chains of at most 256 fused multiply-adds in the order in which x becomes known
///             (backend/order.hpp), rounded once
/// source      PyTorch's linalg.solve_triangular; MindSpore's solve_triangular
struct SolveTriangular : Operator<SolveTriangular, "SolveTriangular"> {
  using Config = TriangularConfig;
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return double(result.count(n)) * in[0].last();
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::check_system("SolveTriangular", in[0], in[1], error);
    return in[1];
  }
  static constexpr void derivative(Derivative& d) {
    Config c = d.config<SolveTriangular>();
    c.transposed = !c.transposed;
    const int db = d.call_with<SolveTriangular>(c, d.operand(0), d.gradient()), x = d.result();
    const int da =
        c.transposed ? detail::matrix_product(d, db, x, false, true) : detail::matrix_product(d, x, db, false, true);
    const int diagonal = !c.unit_diagonal ? 0 : c.side == Side::lower ? -1 : 1;
    d.flows_to(0, d.call<Neg>(d.call_with<Triangle>({c.side == Side::upper, diagonal, 0}, da)));
    d.flows_to(1, db);
  }
};

/// x of a x = b with a lower triangular a: `solve_triangular(a, b)`; of an upper one
/// `solve_triangular<TriangularConfig{.side = Side::upper}>(a, b)`. b is [..., N, M] or [..., N]; leading extents
/// broadcast.
template <TriangularConfig config = TriangularConfig{}>
constexpr auto solve_triangular(const Operand auto& a, const Operand auto& b,
                                std::source_location at = std::source_location::current()) {
  return detail::solved<SolveTriangular, config>(at, a, b);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::Side;
using ops::TriangularConfig;
}  // namespace tenon
