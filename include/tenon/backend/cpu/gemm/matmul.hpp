// The kernel of MatMul: products of matrices, one or a stack of them.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/gemm/gemm.hpp>
#include <tenon/backend/cpu/gemm/kept_product.hpp>
#include <tenon/backend/cpu/gemm/kept_row.hpp>
#include <tenon/backend/cpu/gemm/small.hpp>
#include <tenon/core/memory/arena.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MatMul;
struct ProductUpdate;
}

namespace kernel::detail {
// Not inlined: one function for the products of a program, not one per shape.
template <class T>
[[gnu::noinline]] constexpr Gemm<T> any_gemm(long m, long n, long k, bool ta, bool tb) {
  return gemm_of<T>(m, n, k, ta, tb);
}
template <class T>
[[gnu::noinline]] constexpr KernelWork product_work(const Gemm<T>& g, long stack) {
  const long items = stack * gemm_items(g);
  return {items, g.m * g.n * g.k * stack / (items + 1) / 16 + 1, aligned(long(gemm_workspace(g)))};
}
}  // namespace kernel::detail

template <>
struct Kernel<Cpu, ops::MatMul> {
  static constexpr KernelFacts facts{.epilogue = true};
  using WithUpdate = ops::ProductUpdate;
  struct Sizes {
    long m, n, k, stack;
  };
  // The product of one pair of matrices, or of all rows of a with one matrix b.
  template <class Call>
  static constexpr Sizes matrices_at(long n) {
    const TensorType &a = Call::operand(0), &r = Call::result;
    const int rows = r.rank - 2;
    const long stack = Call::Op::stack_of(r).count(n), m = r.size(rows, n),
               k = a.size(a.rank - (Call::Op::first(Call::config()) ? 2 : 1), n);
    const bool together = Call::operand(1).rank == 2 && !(Call::Op::first(Call::config()) && a.rank > 2);
    return together ? Sizes{m * stack, r.last(), k, 1} : Sizes{m, r.last(), k, stack};
  }
  /// Rows of a times one matrix b; or of matrices that depend on n in one extent, that extent.
  template <class Call>
  static constexpr int row_axes() {
    const TensorType& a = Call::operand(0);
    if (Call::operand(1).rank != 2 || (Call::Op::first(Call::config()) && a.rank > 2)) return 0;
    int most = a.rank - 1;
    for (int k = 2; k < Call::operands; ++k)
      if (const TensorType& t = Call::operand(k); !t.batched() && t.rank > 1) most = 0;
    return tenon::detail::common_axes(Call::description, most);
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
    constexpr TensorType own = Call::Op::stack_of(Call::operand(which)), all = Call::Op::stack_of(Call::result);
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
    constexpr bool fa = Call::Op::first(Call::config()), fb = Call::Op::second(Call::config());
    if constexpr (is_small<Call>()) return kernel::gemm_of<typename Call::Result>(s.m, s.n, s.k, fa, fb);
    else return kernel::detail::any_gemm<typename Call::Result>(s.m, s.n, s.k, fa, fb);
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
                                Call::Op::second(Call::config())>();
  }
  template <class Call>
  static constexpr bool is_small() {
    constexpr auto small = Kernel::small<Call>();
    return small.by_rows || small.by_tiles;
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    const auto s = matrices<Call>(n);
    if constexpr (!is_small<Call>()) return kernel::detail::product_work(layout<Call>(s), s.stack);
    else {
      const long items = s.stack * (Kernel::small<Call>().by_rows ? s.m : 1);
      return {items, s.m * s.n * s.k * s.stack / (items + 1) / 16 + 1, 0};
    }
  }
  template <class Call>
  static void run(const Arguments& arguments, long begin, long end);

  // A dense layer for one row, or for some of each sample: of its weights [n, k], packed as columns.
  static constexpr int kept_operand = 1;
  static constexpr bool kept_for_all = true;
  template <class Call>
  static constexpr bool keeps_operand() {
    constexpr bool transposed = !Call::Op::first(Call::config()) && Call::Op::second(Call::config());
    if constexpr (!std::is_same_v<typename Call::Result, float> || !transposed || Call::operand(1).rank != 2)
      return false;
    else
      return is_one<Call> && !is_small<Call>() && one_sample<Call>.m <= kernel::KeptProduct::most_rows &&
             (one_sample<Call>.m == 1 || (one_sample<Call>.k > 0 && one_sample<Call>.n >= simd_width<float>));
  }
  template <class Call>
  static constexpr kernel::KeptRow kept = kernel::kept_row<one_sample<Call>.n, one_sample<Call>.k>();
  template <class Call>
  static constexpr bool one_row = one_sample<Call>.m == 1;
  template <class Call>
  static constexpr kernel::KeptProduct kept_rows(long n) {
    return {matrices<Call>(n).m, one_sample<Call>.n, one_sample<Call>.k};
  }
  template <class Call>
  static constexpr long kept_bytes(long n) {
    const auto rows = kept_rows<Call>(n);
    if constexpr (one_row<Call>) return rows.m == 1 ? kept<Call>.bytes() : 0;
    else return rows.m <= rows.most_rows ? rows.bytes() : 0;
  }
  template <class Call>
  static void keep(const void* weight, long n, void* to) {
    const float* const from = static_cast<const float*>(weight);
    if constexpr (one_row<Call>) kernel::keep_columns(kept<Call>, from, static_cast<float*>(to));
    else kernel::keep_panels(kept_rows<Call>(n), from, static_cast<float*>(to));
  }
  template <class Call>
  static constexpr KernelWork kept_work(long n) {
    const auto rows = kept_rows<Call>(n);
    long items = rows.items();
    if constexpr (one_row<Call>) items = kept<Call>.items();
    return {items, rows.m * rows.n * rows.k / (items + 1) / 16 + 1, 0};
  }
  template <class Call>
  static void run_kept(const Arguments& arguments, long begin, long end) {
    const auto finish = [&](long row, long rows, long column, long columns) {
      if constexpr (Call::steps > 0)
        for (long r = row; r < row + rows; ++r)
          kernel::apply_steps<Call, true>(arguments, r * one_sample<Call>.n + column, columns, column);
    };
    FunctionRef<long, long, long, long> last;
    if constexpr (Call::steps > 0) last = finish;
    const float *const a = arguments.operand<float>(0), *const b = arguments.operand<float>(1);
    if constexpr (one_row<Call>)
      kernel::kept_row_product(kept<Call>, a, b, arguments.result<float>(), begin, end, last);
    else kernel::kept_product(kept_rows<Call>(arguments.n), a, b, arguments.result<float>(), begin, end, last);
  }
};

TENON_EXACT_BEGIN
template <class Call>
void Kernel<Cpu, ops::MatMul>::run(const Arguments& arguments, long begin, long end) {
  constexpr auto small = Kernel::small<Call>();
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

}  // namespace tenon
TENON_INT_SIZES_END
