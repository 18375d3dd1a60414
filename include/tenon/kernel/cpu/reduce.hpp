// Sums and other reductions over axes.
#pragma once
#include <bit>

#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/cpu/pack.hpp>
#include <tenon/kernel/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// A reduction, seen from its kernel: neighbouring axes that are all kept or all reduced count as one, the outermost first.
struct ReduceWalk {
  int groups = 0;
  long extent[max_rank]{}, stride[max_rank]{}, runs = 1, elements = 1;
  bool reduced[max_rank]{};

  /// True if the last axis is kept: one loop then serves neighbouring results, each with its own chain.
  constexpr bool vertical() const { return groups > 0 && !reduced[groups - 1]; }
  /// Neighbouring elements of one reduced run, or of one row of results.
  constexpr long length() const { return groups > 0 ? extent[groups - 1] : 1; }
  /// Offset of element `index` of the kept or the reduced axes, without those of the last group.
  constexpr long offset(long index, bool of_reduced) const {
    long sum = 0;
    for (int g = groups - 2; g >= 0; --g) {
      if (reduced[g] != of_reduced) continue;
      if (g < 2) return sum + index * stride[g];
      sum += index % extent[g] * stride[g];
      index /= extent[g];
    }
    return sum;
  }
};
/// `mask`: a bit per axis that is reduced.
[[gnu::noinline]] constexpr ReduceWalk reduce_walk(const TensorType& in, unsigned mask, long n) {
  ReduceWalk w;
  for (int axis = 0; axis < in.rank; ++axis) {
    const bool reduced = mask >> axis & 1u;
    const long extent = in.size(axis, n);
    if (w.groups == 0 || w.reduced[w.groups - 1] != reduced) w.extent[w.groups] = 1, w.reduced[w.groups++] = reduced;
    w.extent[w.groups - 1] *= extent;
  }
  for (int g = w.groups - 1; g >= 0; --g) {
    w.stride[g] = w.elements;
    w.elements *= w.extent[g];
    if (w.reduced[g] && g < w.groups - 1) w.runs *= w.extent[g];
  }
  return w;
}

}  // namespace tenon::kernel

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

inline constexpr int reduce_lanes = 16;

/// What sums and means share, so that they are compiled once: a + b of numbers or of vectors, and the division by a number, 1 for a sum.
struct Plus {
  template <class V> [[gnu::always_inline]] V operator()(V a, V b) const { return a + b; }
};
template <class R>
struct DivideBy {
  long count;
  template <class A>
  R operator()(A total) const {
    if constexpr (std::is_floating_point_v<A>) return static_cast<R>(total / static_cast<A>(count));
    else return static_cast<R>(total);
  }
};

/// Combines 16 partial results in a fixed tree: 8 and 8, 4 and 4, 2 and 2, 1 and 1.
template <class A, class F>
inline A combine_lanes(A* lane, F f) {
  for (int half = reduce_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
  return lane[0];
}

/// Reduces `runs` runs of `length` contiguous elements, run r starting at x[start(r)]. Element i of a run goes to lane
/// i mod 16 of 16 partial results, which the fixed tree combines at the end: the order depends on the shape alone.
template <class A, class T, class Start, class F>
inline A reduce_runs(const T* x, long runs, long length, Start start, A initial, F f) {
  if (length == 1) {
    A total = initial;
    for (long r = 0; r < runs; ++r) total = f(total, static_cast<A>(x[start(r)]));
    return total;
  }
  A lane[reduce_lanes];
  for (A& l : lane) l = initial;
  for (long r = 0; r < runs; ++r) {
    const T* run = x + start(r);
    long i = 0;
    for (; i + reduce_lanes <= length; i += reduce_lanes)
      for (int l = 0; l < reduce_lanes; ++l) lane[l] = f(lane[l], static_cast<A>(run[i + l]));
    for (int l = 0; i < length; ++i, ++l) lane[l] = f(lane[l], static_cast<A>(run[i]));
  }
  return combine_lanes(lane, f);
}

namespace detail {
inline constexpr long reduce_block = 512, reduce_cells = 128;

// Results [begin, end) one after the other, or with the last axis kept a block of them at once.
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] void reduce_range(const ReduceWalk& w, const T* x, R* y, long begin, long end, A initial, const F& f, const Finish& finish) {
  const long width = w.length();
  if (!w.vertical()) {
    for (long kept = begin; kept < end; ++kept)
      y[kept] = finish(reduce_runs<A>(
          x + w.offset(kept, false), w.runs, width, [&](long r) { return w.offset(r, true); }, initial, f));
    return;
  }
  for (long kept = begin; kept < end;) {
    const long column = kept % width, left = width - column < end - kept ? width - column : end - kept, count = left < reduce_block ? left : reduce_block;
    const long start = w.offset(kept / width, false) + column, whole = (count + block_length - 1) / block_length * block_length;
    A total[reduce_block];
    for (long i = 0; i < whole; ++i) total[i] = initial;
    long r = 0;
    // Blocks are filled up with neighbours, which are there but in the last rows.
    for (; r + 4 <= w.runs; r += 4) {
      const long offset[4]{start + w.offset(r, true), start + w.offset(r + 1, true), start + w.offset(r + 2, true), start + w.offset(r + 3, true)};
      const T *const a = x + offset[0], *const b = x + offset[1], *const c = x + offset[2], *const d = x + offset[3];
      in_blocks(offset[3] + whole <= w.elements ? whole : count,
                [&](long i) { total[i] = f(f(f(f(total[i], static_cast<A>(a[i])), static_cast<A>(b[i])), static_cast<A>(c[i])), static_cast<A>(d[i])); });
    }
    for (; r < w.runs; ++r) {
      const long offset = start + w.offset(r, true);
      in_blocks(offset + whole <= w.elements ? whole : count, [&, row = x + offset](long i) { total[i] = f(total[i], static_cast<A>(row[i])); });
    }
    for (long i = 0; i < count; ++i) y[kept + i] = finish(total[i]);
    kept += count;
  }
}

// Sixteen neighbours along the outermost axis as the lanes of vectors, transposed chunk by chunk: for results of a few elements each.
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] void reduce_across(const ReduceWalk& w, const T* x, R* y, A initial, const F& f, const Finish& finish) {
  constexpr int lanes = reduce_lanes;
  alignas(64) T cells[reduce_cells * lanes];
  alignas(64) A part[lanes][lanes];
  const long period = w.vertical() ? w.length() : lanes, elements = w.stride[0];
  for (auto& row : part)
    for (A& p : row) p = initial;
  long at = 0;
  for (long first = 0; first < elements; first += reduce_cells) {
    const long count = elements - first < reduce_cells ? elements - first : reduce_cells;
    copy_matrix(x + first, 1, elements, cells, lanes, count, lanes, lanes);
    for (long e = 0; e < count; ++e) {
      A* const sum = part[at];
      const T* const cell = cells + e * lanes;
      for (int v = 0; v < lanes; ++v) sum[v] = f(sum[v], static_cast<A>(cell[v]));
      at = at + 1 < period ? at + 1 : 0;
    }
  }
  const long results = w.vertical() ? period : 1;
  if (!w.vertical())  // the tree of combine_lanes
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        for (int v = 0; v < lanes; ++v) part[i][v] = f(part[i][v], part[i + half][v]);
  for (int v = 0; v < lanes; ++v)
    for (long c = 0; c < results; ++c) y[v * results + c] = finish(part[c][v]);
}
}  // namespace detail

/// y[kept] = finish(reduction of x over the reduced axes), for kept elements begin .. end - 1.
///
/// `f(a, b)` combines, starting from `initial`. With the last axis kept the elements of one result are taken in row-major order, else
/// as by reduce_runs.
template <class A, class T, class R, class F, class Finish>
void reduce(const ReduceWalk& w, const T* x, R* y, long begin, long end, A initial, const F& f, const Finish& finish) {
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4) {
    const bool vertical = w.vertical(), narrow = vertical ? w.groups == 3 && w.length() <= reduce_lanes : w.groups == 2 && w.length() <= 4 * reduce_lanes;
    const long results = vertical ? w.length() : 1;
    if (narrow && w.elements > 0) {
      const long first = (begin + results - 1) / results, count = (end / results - first) / reduce_lanes;
      if (count > 0) {
        detail::reduce_range(w, x, y, begin, first * results, initial, f, finish);
        for (long k = 0; k < count; ++k) {
          const long outer = first + k * reduce_lanes;
          detail::reduce_across(w, x + outer * w.stride[0], y + outer * results, initial, f, finish);
        }
        begin = (first + count * reduce_lanes) * results;
      }
    }
  }
  detail::reduce_range(w, x, y, begin, end, initial, f, finish);
}

/// Elements of an operand of constant extents whose reduction is straight code.
inline constexpr long small_reduction = 16;
/// Is a call a reduction so small that its walk is made of constants?
template <class Call>
constexpr bool is_small_reduction() {
  constexpr TensorType x = Call::operand(0);
  return (is_straight<Call> || !x.batched()) && x.count(1) > 0 && x.count(1) <= (is_straight<Call> ? 4 : 1) * small_reduction;
}
/// The same as reduce, for such a call. An element that is combined with `initial` stays as it is: lanes that no element goes to are left out.
template <class Call, unsigned mask, class A, class T, class R, class F, class Finish>
[[gnu::always_inline]] inline void reduce_small(const T* x, R* y, long begin, long end, A initial, const F& f, const Finish& finish) {
  constexpr ReduceWalk w = reduce_walk(Call::operand(0), mask, 1);
  constexpr long count = w.vertical() || w.length() == 1 ? 1 : w.length(), lanes = count < reduce_lanes ? std::bit_ceil(std::size_t(count)) : reduce_lanes;
#pragma GCC unroll 64
  for (long kept = begin; kept < end; ++kept) {
    const T* const own = x + (w.vertical() ? w.offset(kept / w.length(), false) + kept % w.length() : w.offset(kept, false));
    A lane[lanes];
#pragma GCC unroll 16
    for (A& l : lane) l = initial;
#pragma GCC unroll 64
    for (long e = 0; e < w.runs * count; ++e) lane[e % count % lanes] = f(lane[e % count % lanes], static_cast<A>(own[w.offset(e / count, true) + e % count]));
#pragma GCC unroll 4
    for (long half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 8
      for (long i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
    y[kept] = finish(lane[0]);
  }
}

/// The reduction of operand 0 of a call over the axes of `mask`, in the way that its size asks for.
template <class Call, unsigned mask, class A, class F, class Finish>
inline void reduce_call(const Arguments& a, long begin, long end, A initial, const F& f, const Finish& finish) {
  const auto* const x = a.operand<typename Call::template Operand<0>>(0);
  auto* const y = a.result<typename Call::Result>();
  if constexpr (is_small_reduction<Call>()) reduce_small<Call, mask>(x, y, begin, end, initial, f, finish);
  else reduce(reduce_walk(Call::operand(0), mask, a.n), x, y, begin, end, initial, f, finish);
}

}  // namespace tenon::kernel
TENON_EXACT_END
