// Matrix products: two matrices, stacks of matrices, vectors.
#pragma once
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Which operands of a matmul are transposed in their last two axes.
enum class Transposed : int { none, first, second, both };

namespace detail {
constexpr bool transposes_first(Transposed t) { return t == Transposed::first || t == Transposed::both; }
constexpr bool transposes_second(Transposed t) { return t == Transposed::second || t == Transposed::both; }
}  // namespace detail

/// The first two words are the product's setting and the update's operator, the others the update's settings.
struct ProductUpdateConfig {
  Transposed transposed = Transposed::none;
  int update = 0;  // the operator's id; in a Call 0, which has its type: Call::Joined
  int setting[max_attributes - update_settings_begin]{};
};
/// An update whose gradient is a product of two matrices: graph/pass/fuse_update.hpp makes it of the two. Operands:
/// parameter, the product's two, moments, numbers. The gradient is there for a few rows at a time, with the bits of
/// MatMul. Not for users.
struct ProductUpdate : Operator<ProductUpdate, "MatMulUpdate"> {
  using Config = ProductUpdateConfig;
  static constexpr bool effect = true, holds_update = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr bool first(const Config& c) { return detail::transposes_first(c.transposed); }
  static constexpr bool second(const Config& c) { return detail::transposes_second(c.transposed); }
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config& c, long n) {
    return 2 * double(result.count(n)) * double(in[1].size(in[1].rank - (first(c) ? 2 : 1), n));
  }
};

/// Matrix product over the last two axes.
///
/// a, b        [..., M, K] and [..., K, N], the transposed ones with their last two extents exchanged; the leading
///             extents broadcast against each other; floating-point or integer, one dtype
/// result      [..., M, N]
/// derivative  two products, summed where an operand was broadcast
/// order       per element the sum of segments of 256 steps of ascending k (float64: 128, bfloat16: 512), each of them
///             one chain of fused multiply-adds from +0; of bfloat16 the second of two steps comes first: 1, 0, 3, 2,
///             ... In tiles of AMX (kernel::amx_permitted()) bfloat16 is summed by groups of 32 steps, see
///             kernel::Gemm.
/// source      MindSpore's MatMul and BatchMatMul, PyTorch's matmul, mm, mv, and bmm
struct MatMul : Operator<MatMul, "MatMul"> {
  struct Config {
    Transposed transposed = Transposed::none;
  };
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = 2;
  static constexpr bool first(const Config& c) { return detail::transposes_first(c.transposed); }
  static constexpr bool second(const Config& c) { return detail::transposes_second(c.transposed); }
  static constexpr Config transposed(bool a, bool b) {
    return {a ? b ? Transposed::both : Transposed::first : b ? Transposed::second : Transposed::none};
  }

  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config& c, long n) {
    const TensorType& a = in[0];
    return 2 * double(result.count(n)) * double(a.size(a.rank - (first(c) && a.rank > 1 ? 2 : 1), n));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &a = in[0], &b = in[1];
    TensorType t = a;
    if (a.rank < 2 || b.rank < 2) {
      error << "MatMul needs operands of rank 2 or more, got " << a << " and " << b
            << (a.rank > 2 || b.rank > 2     ? " (flatten the first?)"
                : a.rank == 1 && a.batched() ? " (the extent of a vector must be fixed)"
                                             : "");
      return t;
    }
    const int m = a.extent[a.rank - (first(c) ? 1 : 2)], k = a.extent[a.rank - (first(c) ? 2 : 1)];
    const int k2 = b.extent[b.rank - (second(c) ? 1 : 2)], n = b.extent[b.rank - (second(c) ? 2 : 1)];
    if (a.dtype != b.dtype)
      error << "MatMul of " << tenon::name(a.dtype) << " " << a << " and " << tenon::name(b.dtype) << " " << b
            << ": cast one of them, dtypes must agree";
    else if (k != k2)
      write_extent(write_extent(error << "MatMul got rows of ", k) << " " << a << ", its weight " << b << " needs ",
                   k2);
    else if (!broadcast(stack_of(a), stack_of(b), t))
      error << "MatMul of the stacks " << a << " and " << b << ": their leading extents differ";
    if (!error.empty()) return t;
    t.extent[t.rank++] = m;
    t.extent[t.rank++] = n;
    t.dtype = a.dtype;
    if (!tenon::detail::only_first_is_dynamic(t))
      error << "MatMul of " << a << " and " << b << ": only the leading extent of the result can depend on n";
    return t;
  }
  /// The axes before the last two.
  static constexpr TensorType stack_of(TensorType t) {
    t.rank -= 2;
    return t;
  }

  // For a matrix b all rows of a count as one matrix: [n, T, K] is [T n, K]. With T = 0 that would not depend on n.
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
    const bool fold = d.type(1).rank == 2 && d.type(0).rank > 2 && !fa && rows_of(d.type(0)).extent[0] != 0;
    if (fold) {
      a = d.call_with<Reshape>(Reshape::to(rows_of(d.type(0))), a);
      g = d.call_with<Reshape>(Reshape::to(rows_of(d.result_type())), g);
    }
    const int da =
        fa ? d.call_with<MatMul>(transposed(fb, true), b, g) : d.call_with<MatMul>(transposed(false, !fb), g, b);
    d.flows_to(0, fold ? d.call_with<Reshape>(Reshape::to(d.type(0)), da) : da);
    d.flows_to(
        1, fb ? d.call_with<MatMul>(transposed(true, fa), g, a) : d.call_with<MatMul>(transposed(!fa, false), a, g));
  }
};

namespace detail {
/// A vector as a matrix of one row (or one column), for a product; other operands as they are.
template <bool as_row, class V>
constexpr decltype(auto) as_matrix(const V& v, const std::source_location& at) {
  if constexpr (is_broken<V>) return (v);
  else if constexpr (V::dims.rank != 1) return (v);
  else {
    using Matrix = std::conditional_t<as_row, Shape<1, V::dims[0]>, Shape<V::dims[0], 1>>;
    if constexpr (std::is_base_of_v<ParameterHandle, V>) return ParameterView<V, Matrix>(v);
    else return reshape<Matrix>(v, at);
  }
}
template <class V>
constexpr bool is_vector() {
  if constexpr (is_broken<V>) return false;
  else return V::dims.rank == 1;
}
/// One whose extent depends on n is no row of a product: MatMul::shape says so.
template <class V>
constexpr bool is_vector_of_n() {
  if constexpr (is_vector<V>()) return V::dims.batched();
  else return false;
}
}  // namespace detail

/// a @ b; `matmul<Transposed::second>(x, weight)` is x Wᵀ. A vector a is a row and a vector b a column, whose axis of
/// extent 1 the result does not have.
template <Transposed transposed = Transposed::none, Operand A, Operand B>
constexpr auto matmul(const A& a, const B& b, std::source_location at = std::source_location::current()) {
  if constexpr ((!detail::is_vector<A>() && !detail::is_vector<B>()) || detail::is_vector_of_n<A>())
    return apply<MatMul, MatMul::Config{transposed}>(at, a, b);
  else {
    constexpr bool fa = MatMul::first({transposed}) && !detail::is_vector<A>(),
                   fb = MatMul::second({transposed}) && !detail::is_vector<B>();
    const auto product =
        apply<MatMul, MatMul::transposed(fa, fb)>(at, detail::as_matrix<true>(a, at), detail::as_matrix<false>(b, at));
    if constexpr (is_broken<decltype(product)>) return product;
    else if constexpr (detail::is_vector<A>() && detail::is_vector<B>()) return squeeze<-1, -2>(product, at);
    else if constexpr (detail::is_vector<A>()) return squeeze<-2>(product, at);
    else return squeeze<-1>(product, at);
  }
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::Transposed;
}  // namespace tenon
