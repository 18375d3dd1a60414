// Matrix products: two matrices, stacks of matrices, vectors.
#pragma once
#include <tenon/kernel/cpu/elementwise/fused.hpp>
#include <tenon/kernel/cpu/gemm/gemm.hpp>
#include <tenon/kernel/cpu/gemm/small.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Which operands of a matmul are transposed in their last two axes.
enum class Transposed : int { none, first, second, both };

namespace detail {
// Not inlined: one function for the products of a program, not one per shape.
template <class T>
[[gnu::noinline]] constexpr kernel::Gemm<T> any_gemm(long m, long n, long k, bool ta, bool tb) {
  return kernel::gemm_of<T>(m, n, k, ta, tb);
}
template <class T>
[[gnu::noinline]] constexpr KernelWork product_work(const kernel::Gemm<T>& g, long stack) {
  const long items = stack * kernel::gemm_items(g);
  return {items, g.m * g.n * g.k * stack / (items + 1) / 16 + 1, aligned(long(kernel::gemm_workspace(g)))};
}
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
  template <class Call>
  static constexpr KernelWork work(long n);
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);  // ops/product_update.hpp
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
/// source      MindSpore's MatMul and BatchMatMul
struct MatMul : Operator<MatMul, "MatMul"> {
  struct Config {
    Transposed transposed = Transposed::none;
  };
  using WithUpdate = ProductUpdate;
  static constexpr bool epilogue = true, per_sample = true;
  static constexpr int operands_before_epilogue = 2;
  static constexpr bool first(const Config& c) {
    return c.transposed == Transposed::first || c.transposed == Transposed::both;
  }
  static constexpr bool second(const Config& c) {
    return c.transposed == Transposed::second || c.transposed == Transposed::both;
  }
  static constexpr Config transposed(bool a, bool b) {
    return {a ? b ? Transposed::both : Transposed::first : b ? Transposed::second : Transposed::none};
  }

  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &a = in[0], &b = in[1];
    TensorType t = a;
    if (a.rank < 2 || b.rank < 2) {
      error << "MatMul needs operands of rank 2 or more, got " << a << " and " << b
            << (a.rank > 2 || b.rank > 2 ? " (flatten the first?)" : "");
      return t;
    }
    const int m = a.extent[a.rank - (first(c) ? 1 : 2)], k = a.extent[a.rank - (first(c) ? 2 : 1)];
    const int k2 = b.extent[b.rank - (second(c) ? 1 : 2)], n = b.extent[b.rank - (second(c) ? 2 : 1)];
    if (a.dtype != b.dtype)
      error << "MatMul of " << tenon::name(a.dtype) << " " << a << " and " << tenon::name(b.dtype) << " " << b
            << ": cast one of them, dtypes must agree";
    else if (k != k2) error << "MatMul got rows of " << k << " " << a << ", its weight " << b << " needs " << k2;
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
    const int da =
        fa ? d.call_with<MatMul>(transposed(fb, true), b, g) : d.call_with<MatMul>(transposed(false, !fb), g, b);
    d.flows_to(0, fold ? d.call_with<Reshape>(Reshape::to(d.type(0)), da) : da);
    d.flows_to(
        1, fb ? d.call_with<MatMul>(transposed(true, fa), g, a) : d.call_with<MatMul>(transposed(!fa, false), a, g));
  }

  struct Sizes {
    long m, n, k, stack;
  };
  // The product of one pair of matrices, or of all rows of a with one matrix b.
  template <class Call>
  static constexpr Sizes matrices_at(long n) {
    const TensorType &a = Call::operand(0), &r = Call::result;
    const int rows = r.rank - 2;
    const long stack = stack_of(r).count(n), m = r.size(rows, n),
               k = a.size(a.rank - (first(Call::config()) ? 2 : 1), n);
    const bool together = Call::operand(1).rank == 2 && !(first(Call::config()) && a.rank > 2);
    return together ? Sizes{m * stack, r.last(), k, 1} : Sizes{m, r.last(), k, stack};
  }
  // Each is a multiple of n and a constant: two batch sizes tell all of them, and nothing is computed per call.
  template <class Call>
  static constexpr Sizes one_sample = matrices_at<Call>(1);
  template <class Call>
  static constexpr Sizes two_samples = matrices_at<Call>(2);
  static constexpr Sizes between(const Sizes& one, const Sizes& two, long n) {
    return {one.m + (two.m - one.m) * (n - 1), one.n, one.k + (two.k - one.k) * (n - 1),
            one.stack + (two.stack - one.stack) * (n - 1)};
  }
  template <class Call>
  static constexpr Sizes matrices(long n) {
    return between(one_sample<Call>, two_samples<Call>, n);
  }
  template <class Call>
  static constexpr bool is_one = one_sample<Call>.stack == 1 && two_samples<Call>.stack == 1;
  // Which matrix of operand `which` takes part in product `index` of the stack.
  template <class Call, int which>
  static constexpr long matrix_of(long index, long n) {
    constexpr TensorType own = stack_of(Call::operand(which)), all = stack_of(Call::result);
    if constexpr (own.same_shape(all)) return index;
    else {
      long matrix = 0, stride = 1;
      for (int axis = all.rank - 1; axis >= all.rank - own.rank; --axis) {
        const int at = axis - (all.rank - own.rank);
        if (own.extent[at] != 1) matrix += index % all.size(axis, n) * stride;
        stride *= own.size(at, n);
        index /= all.size(axis, n);
      }
      return matrix;
    }
  }
  // One product of the stack, its matrices still to be told.
  template <class Call>
  static constexpr kernel::Gemm<typename Call::Result> layout(const Sizes& s) {
    constexpr bool fa = first(Call::config()), fb = second(Call::config());
    if constexpr (is_small<Call>()) return kernel::gemm_of<typename Call::Result>(s.m, s.n, s.k, fa, fb);
    else return detail::any_gemm<typename Call::Result>(s.m, s.n, s.k, fa, fb);
  }
  template <class Call>
  static kernel::Gemm<typename Call::Result> product(const Arguments& arguments, const Sizes& s, long index) {
    using T = typename Call::Result;
    kernel::Gemm<T> g = layout<Call>(s);
    g.a = arguments.operand<T>(0), g.b = arguments.operand<T>(1), g.c = arguments.result<T>();
    if constexpr (!is_one<Call>) {
      g.a += matrix_of<Call, 0>(index, arguments.n) * s.m * s.k;
      g.b += matrix_of<Call, 1>(index, arguments.n) * s.k * s.n;
      g.c += index * s.m * s.n;
    }
    return g;
  }
  // The sizes of one product as constants, 0 where one depends on n.
  template <class Call>
  static constexpr auto small() {
    constexpr Sizes one = one_sample<Call>, two = two_samples<Call>;
    constexpr auto fixed = [](long at_one, long at_two) { return at_one == at_two ? int(at_one) : 0; };
    return kernel::SmallProduct<typename Call::Result, fixed(one.m, two.m), fixed(one.n, two.n), fixed(one.k, two.k),
                                second(Call::config())>();
  }
  template <class Call>
  static constexpr bool is_small() {
    constexpr auto small = MatMul::small<Call>();
    return small.by_rows || small.by_tiles;
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    const auto s = matrices<Call>(n);
    if constexpr (!is_small<Call>()) return detail::product_work(layout<Call>(s), s.stack);
    else {
      const long items = s.stack * (MatMul::small<Call>().by_rows ? s.m : 1);
      return {items, s.m * s.n * s.k * s.stack / (items + 1) / 16 + 1, 0};
    }
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);
};

TENON_EXACT_BEGIN
template <class Call>
void MatMul::run(const Arguments& arguments, long begin, long end) {
  constexpr auto small = MatMul::small<Call>();
  const auto s = matrices<Call>(arguments.n);
  constexpr bool one = is_one<Call>;
  long index = 0;
  const auto finish = [&](long row, long rows, long column, long columns) {
    if constexpr (Call::steps > 0)
      for (long r = row; r < row + rows; ++r)
        kernel::apply_steps<Call, true>(arguments, (index * s.m + r) * s.n + column, columns, column);
  };
  FunctionRef<long, long, long, long> last;
  if constexpr (Call::steps > 0) last = finish;
  if constexpr (one && !small.by_rows && !small.by_tiles)
    kernel::gemm(product<Call>(arguments, s, 0), begin, end, arguments.workspace, last);
  else {
    const long parts = small.by_rows ? s.m : small.by_tiles ? 1 : work<Call>(arguments.n).items / s.stack;
    for (long item = begin; item < end;) {
      index = one ? 0 : item / parts;
      const long from = item - index * parts, to = end - item < parts - from ? from + (end - item) : parts;
      const auto g = product<Call>(arguments, s, index);
      if constexpr (small.by_rows || small.by_tiles) {
        if constexpr (small.by_rows) small.rows(g, from, to);
        else small.tiles(g);
        finish(small.by_rows ? from : 0, small.by_rows ? to - from : s.m, 0, s.n);
      } else kernel::gemm(g, from, to, arguments.workspace, last);
      item += to - from;
    }
  }
}
TENON_EXACT_END

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
}  // namespace detail

/// a @ b; `matmul<Transposed::second>(x, weight)` is x Wᵀ. A vector a is a row and a vector b a column, whose axis of
/// extent 1 the result does not have.
template <Transposed transposed = Transposed::none, Operand A, Operand B>
constexpr auto matmul(const A& a, const B& b, std::source_location at = std::source_location::current()) {
  if constexpr (!detail::is_vector<A>() && !detail::is_vector<B>())
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

#include <tenon/ops/product_update.hpp>
