// The loop after every element-wise operator, single or fused, with broadcasting.
#pragma once
#include <cstring>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/elementwise/usual.hpp>
#include <tenon/core/nchw16n.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// The extents that a value has in memory: an NCHW16n image has a last axis for the samples of a block, and the
/// leading axis counts blocks; what is no image is the same for all samples.
constexpr TensorType in_memory(TensorType t, bool blocks) {
  if (blocks) t.extent[t.rank++] = t.batched() ? block_samples : 1;
  return t;
}

/// How the operands of an element-wise call line up with its result, worked out from the shapes: the result is walked
/// as rows of `inner` elements; along a row each operand moves by 0 or 1. n counts blocks if the images are NCHW16n.
template <class Call, bool blocks = false>
struct RowLayout {
  static constexpr TensorType out = in_memory(Call::result, blocks);

  // Extent of operand k along axis `axis` of the result; 1 where it is broadcast or has no such axis.
  static constexpr int extent(int k, int axis) {
    const TensorType t = in_memory(Call::operand(k), blocks);
    const int own = axis - (out.rank - t.rank);
    return own < 0 ? 1 : t.extent[own];
  }
  static constexpr bool spans(int k, int axis) { return extent(k, axis) == out.extent[axis]; }
  static constexpr bool constant(int k, int axis) { return extent(k, axis) == 1; }

  // The first axis of the row: every operand spans all axes of the row, or is constant on all of them.
  static constexpr int find_first_axis() {
    int first = out.rank;
    while (first > 0) {
      for (int k = 0; k < Call::operands; ++k) {
        bool all_span = true, all_constant = true;
        for (int axis = first - 1; axis < out.rank; ++axis)
          all_span &= spans(k, axis), all_constant &= constant(k, axis);
        if (!all_span && !all_constant) return first;
      }
      --first;
    }
    return first;
  }
  static constexpr int first_axis = find_first_axis();
  static constexpr bool flat = first_axis == 0;  // one row, which may depend on n

  static constexpr long inner(long n) {
    long product = 1;
    for (int axis = first_axis; axis < out.rank; ++axis) product *= out.size(axis, n);
    return product;
  }
  static constexpr long step(int k) {
    for (int axis = first_axis; axis < out.rank; ++axis)
      if (!spans(k, axis)) return 0;
    for (int axis = first_axis; axis < out.rank; ++axis)
      if (out.extent[axis] != 1) return 1;
    return first_axis < out.rank ? 1 : 0;
  }
  // Offset of operand k at the start of row `row`.
  static constexpr long offset(int k, long row) {
    long offset = 0, stride = 1;
    for (int axis = out.rank - 1; axis >= first_axis; --axis) stride *= extent(k, axis) < 0 ? 1 : extent(k, axis);
    for (int axis = first_axis - 1; axis >= 0; --axis) {
      const long here = axis == 0 ? row : row % out.extent[axis];
      if (axis > 0) row /= out.extent[axis];
      if (!constant(k, axis)) offset += here * stride, stride *= axis == 0 ? 1 : extent(k, axis);
    }
    return offset;
  }
  // Rows that follow each other along the axis before the row, and what an operand moves by from one to the next.
  static constexpr long neighbours(long row, long end) {
    constexpr long before = first_axis > 1 ? out.extent[first_axis - 1] : 1, extent = before > 0 ? before : 1;
    const long left = first_axis > 1 ? extent - row % extent : end;
    return left < end - row ? left : end - row;
  }
  static constexpr long row_step(int k) {
    if (constant(k, first_axis - 1)) return 0;
    long step = 1;
    for (int axis = first_axis; axis < out.rank; ++axis) step *= extent(k, axis);
    return step;
  }
  static constexpr long rows(long n) {
    const long length = inner(n);
    return flat ? 1 : length > 0 ? out.count(n) / length : 0;
  }
  static constexpr long items(long n) { return flat ? inner(n) : rows(n); }
  // What is one row has one kernel for all shapes already.
  static constexpr int row_axes() {
    int most = flat || !out.batched() ? 0 : out.rank;
    for (int k = 0; k < Call::operands; ++k) {
      const TensorType& t = Call::operand(k);
      if (t.batched() ? t.rank != out.rank : out.rank - t.rank < most) most = t.batched() ? 0 : out.rank - t.rank;
    }
    return tenon::detail::common_axes(Call::description, most);
  }
};

}  // namespace tenon::kernel

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// True of a function of one float32 operand whose operator has it `in_vectors`, too.
template <class F, class Result, class... T>
inline constexpr bool has_vectors = false;
template <class F>
requires(requires(Simd<float> x) { F::Of::in_vectors(x); })
inline constexpr bool has_vectors<F, float, float> = true;
template <class F>
inline void map_in_vectors(F f, float* out, long count, const float* in) {
  constexpr int width = simd_width<float>;
  const long whole = count - count % width;
  for (long i = 0; i < whole; i += width) F::Of::in_vectors(Simd<float, width>::load(in + i)).store(out + i);
  for (long i = whole; i < count; ++i) out[i] = f(in[i]);
}

/// An element as it is: BroadcastTo.
struct CopyElement {
  template <class T>
  [[gnu::always_inline]] T operator()(T x) const {
    return x;
  }
};
// At -O2 g++ moves the elements of a block one by one, unless it is a copy of memory or a constant.
template <bool moves, class T>
[[gnu::always_inline]] inline void copy_or_repeat(T* out, long count, const T* in) {
  constexpr long block = block_length;
  const long whole = count - count % block;
  T own[block];
  if constexpr (!moves)
    if (count > 0)
      for (T& one : own) one = *in;
  for (long i = 0; i < whole; i += block) std::memcpy(static_cast<void*>(out + i), moves ? in + i : own, sizeof own);
  for (long i = whole; i < count; ++i) out[i] = in[moves ? i : 0];
}

template <bool... Moves, class F, class Result, class... T>
[[gnu::always_inline]] inline void map_one_row(F f, Result* out, long count, const T*... in) {
  if constexpr (std::is_same_v<F, CopyElement>) copy_or_repeat<Moves...>(out, count, in...);
  else if constexpr (has_vectors<F, Result, T...> && (Moves && ...)) map_in_vectors(f, out, count, in...);
  else if constexpr (requires { typename F::Usual; }) map_usual<typename F::Usual, Moves...>(out, count, f, in...);
  else map_unrolled<Moves...>(out, count, f, in...);
}
/// out[i] = f(in[i]...), operands whose Moves is false at their first element: the loop after all shapes of an
/// operator, which stands in a program once.
template <class F, class Result, bool... Moves, class... T>
[[gnu::noinline]] void map_row(F f, std::integer_sequence<bool, Moves...>, Result* out, long count, const T*... in) {
  map_one_row<Moves...>(f, out, count, in...);
}
/// An operand of rows, and how far it is from one row to the next.
template <class T>
struct Rowed {
  const T* from;
  long step;
};
/// The same for several rows.
template <class F, class Result, bool... Moves, class... T>
[[gnu::noinline]] void map_rows(F f, std::integer_sequence<bool, Moves...>, Result* out, long rows, long count,
                                Rowed<T>... in) {
  for (; rows > 0; --rows, out += count, ((in.from += in.step), ...)) map_one_row<Moves...>(f, out, count, in.from...);
}

/// result[i] = f(operand 0 at i, operand 1 at i, ...) for items begin .. end - 1.
template <class Call, bool blocks, class F, int... K>
inline void elementwise_rows(const Arguments& a, long begin, long end, F f, std::integer_sequence<int, K...>) {
  using Rows = RowLayout<Call, blocks>;
  constexpr std::integer_sequence<bool, (Rows::step(K) != 0)...> moves;
  auto* result = a.result<typename Call::Result>();
  if constexpr (Rows::flat && Rows::out.count(1) <= block_length)  // a call would take longer
    if (!Rows::out.batched() || a.n == 1) {
      for (long i = begin; i < end; ++i)
        result[i] = static_cast<typename Call::Result>(
            f(a.operand<typename Call::template Operand<K>>(K)[Rows::step(K) ? i : 0]...));
      return;
    }
  if constexpr (Rows::flat) {
    map_row(f, moves, result + begin, end - begin,
            (a.operand<typename Call::template Operand<K>>(K) + (Rows::step(K) ? begin : 0))...);
  } else {
    const long inner = Rows::inner(blocks ? whole_blocks(a.n) / block_samples : a.n);
    for (long row = begin; row < end;) {
      const long count = Rows::neighbours(row, end);
      map_rows(f, moves, result + row * inner, count, inner,
               Rowed<typename Call::template Operand<K>>{
                   a.operand<typename Call::template Operand<K>>(K) + Rows::offset(K, row), Rows::row_step(K)}...);
      row += count;
    }
  }
}

/// A call that is one row, whatever its shape: a program carries it once per operator, dtypes, and operands that move.
template <class F, class Result, bool... Moves, class... T, int... K>
inline void run_flat(const Arguments& a, long begin, long end, std::integer_sequence<bool, Moves...> moves,
                     std::integer_sequence<int, K...>, const T*...) {
  map_row(F(), moves, a.result<Result>() + begin, end - begin, (a.operand<T>(K) + (Moves ? begin : 0))...);
}
template <class F, class Result, class Moves, class... T>
struct FlatKernel {
  static void run(const Arguments& a, long begin, long end) {
    run_flat<F, Result>(a, begin, end, Moves{}, std::make_integer_sequence<int, sizeof...(T)>{},
                        static_cast<const T*>(nullptr)...);
  }
};
template <class Call, class F, int... K>
constexpr auto flat_kernel(std::integer_sequence<int, K...>) {
  return &FlatKernel<F, typename Call::Result, std::integer_sequence<bool, (RowLayout<Call>::step(K) != 0)...>,
                     typename Call::template Operand<K>...>::run;
}

/// A call whose result is operand 0, of elements of this many bytes.
template <std::size_t bytes>
void copy_elements(const Arguments& a, long begin, long end) {
  const std::size_t first = static_cast<std::size_t>(begin) * bytes;
  std::memmove(a.result<char>() + first, a.operand<char>(0) + first, static_cast<std::size_t>(end) * bytes - first);
}

/// F should be one type for all shapes: the function of the operator.
template <class Call, class F, bool blocks = false>
inline void elementwise(const Arguments& a, long begin, long end, F f = F()) {
  elementwise_rows<Call, blocks>(a, begin, end, f, std::make_integer_sequence<int, Call::operands>{});
}
/// Items of the call with NCHW16n images.
template <class Call>
constexpr KernelWork elementwise_nchw16n_work(long n) {
  KernelWork work;
  work.items = RowLayout<Call, true>::items(whole_blocks(n) / block_samples);
  if (work.items) work.cost = Call::result.count(whole_blocks(n)) / work.items + 1;
  return work;
}

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct Fused;
}

namespace kernel {
/// What an element-wise kernel becomes a step of. An operator with usual operands remains by itself: a chain would take
/// its branches.
template <class Function>
struct ChainOf {
  using Chain = ops::Fused;
};
template <class Function>
requires(requires { typename Function::Usual; })
struct ChainOf<Function> {};
}  // namespace kernel

/// An operator that says by `eval` what it does with one element of each operand, ops::Elementwise, and maybe by
/// `copies` that this is nothing, ops::Copy.
template <class Op>
requires(Op::elementwise && requires { typename Op::Function; })
struct Kernel<Cpu, Op> : kernel::ChainOf<typename Op::Function> {
  using Function = typename Op::Function;
  static constexpr KernelFacts facts{.in_place = true, .nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static constexpr int row_axes() {
    return kernel::RowLayout<Call>::row_axes();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, Function>(a, begin, end);
  }
  template <class Call>
  static constexpr auto kernel() {
    if constexpr (requires { requires tenon::detail::is_set(Op::copies); })
      return &kernel::copy_elements<sizeof(typename Call::Result)>;
    else if constexpr (kernel::RowLayout<Call>::flat && Call::result.count(1) > kernel::block_length)
      return kernel::flat_kernel<Call, Function>(std::make_integer_sequence<int, Call::operands>{});
    else return &Kernel::template run<Call>;
  }
  /// Without rows to walk, blocks of samples are one row as well, only longer.
  template <class Call>
  static constexpr bool runs_alike() {
    return kernel::RowLayout<Call>::flat;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::elementwise_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, Function, true>(a, begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
