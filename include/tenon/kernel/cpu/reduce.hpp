// Sums and other reductions over axes.
#pragma once
#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// A reduction, seen from its kernel: the operand is walked as blocks of kept and reduced axes.
/// Axes are given as a bit mask of the operand's axes.
template <class Call>
struct ReduceLayout {
  static constexpr TensorType in = Call::operand(0);
  static constexpr bool reduced(unsigned mask, int axis) { return mask >> axis & 1u; }
  // Trailing axes that are reduced: one contiguous run per kept element.
  static constexpr int first_run_axis(unsigned mask) {
    int first = in.rank;
    while (first > 0 && reduced(mask, first - 1)) --first;
    return first;
  }
};

}  // namespace tenon::kernel

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

inline constexpr int reduce_lanes = 16;

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

/// result[kept] = finish(reduction over the axes of `mask`), for kept elements begin .. end - 1.
///
/// `f(a, b)` combines, starting from `initial`; the elements of one result are taken in row-major order.
template <class Call, class A, class F, class Finish>
inline void reduce(const Arguments& a, long begin, long end, unsigned mask, A initial, F f, Finish finish) {
  using Layout = ReduceLayout<Call>;
  constexpr TensorType in = Layout::in;
  const auto* x = a.operand<typename Call::template Operand<0>>(0);
  auto* y = a.result<typename Call::Result>();
  const int run_axis = Layout::first_run_axis(mask);
  long length = 1, stride[max_rank]{}, extent[max_rank]{}, runs = 1, next = 1;
  for (int axis = in.rank - 1; axis >= 0; --axis) {
    extent[axis] = in.size(axis, a.n);
    stride[axis] = next;
    next *= extent[axis];
    if (axis >= run_axis) length *= extent[axis];
    else if (Layout::reduced(mask, axis)) runs *= extent[axis];
  }
  // One loop serves a block of neighbouring results when the last axis is kept: each has its own chain.
  const bool vertical = run_axis == in.rank && in.rank > 0;
  const long width = vertical ? extent[in.rank ? in.rank - 1 : 0] : 1;
  const auto start_of = [&](long index, bool which) {  // offset of element `index` of the kept (false) or reduced (true) axes
    long offset = 0;
    for (int axis = (vertical ? in.rank - 1 : run_axis) - 1; axis >= 0; --axis) {
      if (Layout::reduced(mask, axis) != which) continue;
      offset += index % extent[axis] * stride[axis];
      index /= extent[axis];
    }
    return offset;
  };
  if (!vertical) {
    for (long kept = begin; kept < end; ++kept)
      y[kept] = finish(reduce_runs<A>(x + start_of(kept, false), runs, length, [&](long r) { return start_of(r, true); }, initial, f));
    return;
  }
  constexpr long block = 64;
  for (long kept = begin; kept < end;) {
    const long column = kept % width, count = width - column < block ? width - column : block;
    const long stop = end - kept < count ? end - kept : count;
    const auto* base = x + start_of(kept / width, false) + column;
    A total[block];
    for (long i = 0; i < stop; ++i) total[i] = initial;
    for (long r = 0; r < runs; ++r) {
      const auto* row = base + start_of(r, true);
      in_blocks(stop, [&](long i) { total[i] = f(total[i], static_cast<A>(row[i])); });
    }
    for (long i = 0; i < stop; ++i) y[kept + i] = finish(total[i]);
    kept += stop;
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
