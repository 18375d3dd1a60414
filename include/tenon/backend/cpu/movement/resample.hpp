// Resampling along an axis, and the gradient: lists of places and weights, then rows or elements.
#pragma once
#include <tenon/backend/cpu/movement/picks.hpp>
#include <tenon/backend/cpu/movement/pieces.hpp>
#include <tenon/backend/cpu/movement/strided.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Resample;
struct ResampleGrad;
}  // namespace ops

namespace kernel {
/// A map along an axis, or, of a gradient, its transpose.
template <bool gradient>
struct ResampleAxis {
  template <class Call>
  using Sum = ResampleSum<typename Call::Result>;
  template <class Call>
  static constexpr AxisSplit split(const TensorType& t, long n) {
    return axis_split(t, normalized_axis(Call::config().axis, t.rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    const AxisSplit y = split<Call>(Call::result, n);
    return y.inner == 1 ? y.outer : y.outer * y.count;
  }
  template <class Call>
  static constexpr long cost(long n) {
    const AxisSplit y = split<Call>(Call::result, n);
    return y.inner == 1 ? y.count : y.inner;
  }
  // Elements of the operand and of the result along the axis; bytes of the lists of one map.
  template <class Call>
  static constexpr long count_of(const TensorType& t, long n) {
    return split<Call>(t, n).count;
  }
  template <class Call>
  static constexpr long list_bytes(long n, long lists) {
    const long x = count_of<Call>(Call::operand(0), n), y = count_of<Call>(Call::result, n);
    const long in = gradient ? y : x, out = gradient ? x : y;
    return TapLists<Sum<Call>>::bytes(lists, out * Call::config().most_taps(in, out));
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const long x = count_of<Call>(Call::operand(0), n), y = count_of<Call>(Call::result, n);
    return list_bytes<Call>(n, y) + (gradient ? list_bytes<Call>(n, x) : 0) + (by_picks<Call> ? Picks::bytes(y) : 0);
  }
  // Lines of float32 whose extent does not depend on n, and is no larger than what pays.
  template <class Call>
  static constexpr bool by_picks =
      has_picks<typename Call::Result> && split<Call>(Call::result, 1).inner == 1 &&
      count_of<Call>(Call::result, 1) == count_of<Call>(Call::result, 2) && count_of<Call>(Call::result, 1) <= 4096;
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const AxisSplit x = split<Call>(Call::operand(0), a.n);
    const long out = count_of<Call>(Call::result, a.n);
    constexpr bool weighted = gradient || Call::config().weighted();
    if (out == 0) return;
    std::byte* room = a.workspace;
    TapLists<Sum<Call>> list =
        taps_of<Sum<Call>>(room, Call::config(), gradient ? out : x.count, gradient ? x.count : out);
    room += list_bytes<Call>(a.n, list.lists);
    if constexpr (gradient) {
      list = transposed_taps(room, list, out);
      room += list_bytes<Call>(a.n, out);
    }
    const T* const from = a.operand<T>(0);
    T* const to = a.result<T>();
    // of short lines wide vectors are faster by numbers
    if constexpr (!weighted)
      if (x.inner == 1 && !(by_picks<Call> && simd_bytes > 32 && out < short_line<T>) &&
          copied_in_pieces(list, a.operand<Moved<T>>(0), a.result<Moved<T>>(), x, begin, end))
        return;
    if constexpr (by_picks<Call>) {
      Picks picks(room, out);
      if (picks.fill(list, x.count))
        return resample_by_picks<weighted>(picks, list, from, to, x.outer, x.count, begin, end);
    }
    if (x.inner == 1) resample_elements<weighted>(list, from, to, x.count, begin, end);
    else if constexpr (weighted) resample_rows(list, from, to, x.count, x.inner, begin, end);
    else copy_rows(list, from, to, x.count, x.inner, begin, end);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Resample> : kernel::ResampleAxis<false> {};
template <>
struct Kernel<Cpu, ops::ResampleGrad> : kernel::ResampleAxis<true> {};

}  // namespace tenon
