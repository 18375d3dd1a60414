// Matrix products: two matrices, a stack of rows with a matrix, or two stacks of matrices.
#pragma once
#include <tenon/kernel/cpu/gemm.hpp>
#include <tenon/kernel/cpu/steps.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Which operands of a matmul are transposed in their last two axes.
enum class Transposed : int { none, first, second, both };

/// Matrix product over the last two axes.
///
/// a, b        [..., M, K] and [..., K, N], the transposed ones with their last two extents exchanged; the leading extents
///             agree, or b is a matrix (then all rows of a are multiplied with it); floating-point or integer, one dtype
/// result      [..., M, N]
/// derivative  two products
/// order       one chain of fused multiply-adds over ascending k per element
/// source      MindSpore's MatMul and BatchMatMul
struct MatMul : Operator<MatMul, "MatMul"> {
  struct Config {
    Transposed transposed = Transposed::none;
  };
  static constexpr bool epilogue = true;
  static constexpr int operands_before_epilogue = 2;
  static constexpr bool first(const Config& c) { return c.transposed == Transposed::first || c.transposed == Transposed::both; }
  static constexpr bool second(const Config& c) { return c.transposed == Transposed::second || c.transposed == Transposed::both; }
  static constexpr Config transposed(bool a, bool b) { return {a ? b ? Transposed::both : Transposed::first : b ? Transposed::second : Transposed::none}; }

  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &a = in[0], &b = in[1];
    TensorType t = a;
    if (a.rank < 2 || b.rank < 2) {
      error << "MatMul needs operands of rank 2 or more, got " << a << " and " << b << (a.rank > 2 || b.rank > 2 ? " (flatten the first?)" : "");
      return t;
    }
    const int m = a.extent[a.rank - (first(c) ? 1 : 2)], k = a.extent[a.rank - (first(c) ? 2 : 1)];
    const int k2 = b.extent[b.rank - (second(c) ? 1 : 2)], n = b.extent[b.rank - (second(c) ? 2 : 1)];
    bool stacks_agree = b.rank == 2 || a.rank == b.rank;
    for (int axis = 0; b.rank > 2 && stacks_agree && axis < a.rank - 2; ++axis) stacks_agree = a.extent[axis] == b.extent[axis];
    if (a.dtype != b.dtype) error << "MatMul of " << tenon::name(a.dtype) << " " << a << " and " << tenon::name(b.dtype) << " " << b << ": cast one of them, dtypes must agree";
    else if (k != k2) error << "MatMul got rows of " << k << " " << a << ", its weight " << b << " needs " << k2;
    else if (!stacks_agree) error << "MatMul of the stacks " << a << " and " << b << ": their leading extents differ";
    else if (n < 0) error << "MatMul of " << a << " and " << b << ": only the leading extent of the result can depend on n";
    t.extent[t.rank - 2] = m;
    t.extent[t.rank - 1] = n;
    return t;
  }

  // For a matrix b all rows of a count as one matrix: [n, T, K] is [T n, K].
  static constexpr TensorType rows_of(const TensorType& t) {
    TensorType r = t;
    r.rank = 2;
    r.extent[0] = 1;
    for (int axis = 0; axis < t.rank - 1; ++axis) r.extent[0] *= t.extent[axis];
    r.extent[1] = t.last();
    return r;
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<MatMul>();
    const bool fa = first(c), fb = second(c);
    int a = d.operand(0), g = d.gradient();
    const int b = d.operand(1);
    const bool fold = d.type(1).rank == 2 && d.type(0).rank > 2 && !fa;
    if (fold) {
      a = d.call_with<Reshape>(Reshape::to(rows_of(d.type(0))), a);
      g = d.call_with<Reshape>(Reshape::to(rows_of(d.result_type())), g);
    }
    const int da = fa ? d.call_with<MatMul>(transposed(fb, true), b, g) : d.call_with<MatMul>(transposed(false, !fb), g, b);
    d.flows_to(0, fold ? d.call_with<Reshape>(Reshape::to(d.type(0)), da) : da);
    d.flows_to(1, fb ? d.call_with<MatMul>(transposed(true, fa), g, a) : d.call_with<MatMul>(transposed(!fa, false), a, g));
  }

  template <class Call> static constexpr bool stacked = Call::operand(1).rank > 2;
  // The product of one pair of matrices, or of all rows with one matrix.
  template <class Call>
  static constexpr auto matrices(long n) {
    struct Sizes {
      long m, n, k, stack;
    };
    constexpr TensorType a = Call::operand(0), r = Call::result;
    constexpr int rows = r.rank - 2;
    long stack = 1;
    for (int axis = 0; axis < rows; ++axis) stack *= r.size(axis, n);
    const long m = r.size(rows, n), k = a.size(a.rank - (first(Call::config()) ? 2 : 1), n);
    const bool together = !stacked<Call> && !(first(Call::config()) && a.rank > 2);
    return together ? Sizes{m * stack, r.last(), k, 1} : Sizes{m, r.last(), k, stack};
  }
  template <class Call>
  static constexpr kernel::Gemm<typename Call::Result> product(const Arguments& arguments, long index) {
    using T = typename Call::Result;
    const auto s = matrices<Call>(arguments.n);
    const bool fa = first(Call::config()), fb = second(Call::config());
    const T* a = arguments.operand<T>(0) ? arguments.operand<T>(0) + index * s.m * s.k : nullptr;
    const T* b = arguments.operand<T>(1) ? arguments.operand<T>(1) + (stacked<Call> ? index * s.k * s.n : 0) : nullptr;
    T* c = arguments.result<T>() ? arguments.result<T>() + index * s.m * s.n : nullptr;
    return {s.m, s.n, s.k, a, fa ? 1 : s.k, fa ? s.m : 1, b, fb ? 1 : s.n, fb ? s.k : 1, c, s.n};
  }
  template <class Call>
  static constexpr long items(long n) {
    Arguments shape_only;
    shape_only.n = n;
    return matrices<Call>(n).stack * kernel::gemm_items(product<Call>(shape_only, 0));
  }
  template <class Call>
  static constexpr long cost(long n) {
    const auto s = matrices<Call>(n);
    return s.m * s.n * s.k * s.stack / (items<Call>(n) + 1) / 16 + 1;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const auto s = matrices<Call>(n);
    return long(kernel::gemm_workspace<typename Call::Result>(s.m, s.n, s.k));
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);
};

TENON_EXACT_BEGIN
template <class Call>
void MatMul::run(const Arguments& arguments, long begin, long end) {
  const auto s = matrices<Call>(arguments.n);
  const long parts = items<Call>(arguments.n) / s.stack;
  for (long item = begin; item < end;) {
    const long index = item / parts, from = item % parts, to = end - item < parts - from ? from + (end - item) : parts;
    kernel::gemm(product<Call>(arguments, index), from, to, arguments.workspace, [&](long row, long rows, long column, long columns) {
      if constexpr (Call::description.steps > 0)
        for (long r = row; r < row + rows; ++r) kernel::apply_steps<Call>(arguments, (index * s.m + r) * s.n + column, columns, column, 1);
    });
    item += to - from;
  }
}
TENON_EXACT_END

/// a @ b; `matmul<Transposed::second>(x, weight)` is x Wᵀ.
template <Transposed transposed = Transposed::none>
constexpr auto matmul(const Operand auto& a, const Operand auto& b, std::source_location at = std::source_location::current()) {
  return apply<MatMul, MatMul::Config{transposed}>(at, a, b);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::Transposed;
}  // namespace tenon
