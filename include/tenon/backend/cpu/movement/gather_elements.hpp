// Elements along an axis by number, and their sums by number.
#pragma once
#include <tenon/backend/cpu/movement/gather.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/core/math/wrapping.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Terms of a chain of a sum by number along an axis.
inline constexpr long line_chain = 256;

/// The type in which elements of T are added up by number.
template <class T>
using ScatterSum = std::conditional_t<is_floating(dtype_of<T>), Accumulator<T>, T>;

/// Adds `count` rows of `inner` neighbours to the rows that their numbers name: total[number[j, i], i] += values[j, i].
/// `inner` may be the distance of the elements of one line, with `width` 1. `chain` is as large as total; null: all
/// numbers of a line differ, or they are one chain.
template <class A, class T, class I>
TENON_DEVICE inline void add_by_number(const I* number, const T* values, long count, long inner, long width,
                                       long extent, A* total, A* chain) {
  for (long r = 0; r < extent; ++r)
    for (long i = 0; i < width; ++i) {
      total[r * inner + i] = A(0);
      if (chain) chain[r * inner + i] = A(0);
    }
  for (long first = 0; first < count; first += line_chain) {
    const long last = first + line_chain < count ? first + line_chain : count;
    A* const sum = chain ? chain : total;
    for (long j = first; j < last; ++j)
      for (long i = 0; i < width; ++i) {
        const long row = table_row(number[j * inner + i], extent);
        if (row < 0) continue;
        A& own = sum[row * inner + i];
        own = math::wrapping_add(own, static_cast<A>(values[j * inner + i]));
      }
    if (!chain) continue;
    for (long j = first; j < last; ++j)
      for (long i = 0; i < width; ++i) {
        const long row = table_row(number[j * inner + i], extent);
        if (row < 0) continue;
        A &own = total[row * inner + i], &part = chain[row * inner + i];
        own = math::wrapping_add(own, part);  // a second time +0, which changes nothing
        part = A(0);
      }
  }
}

/// ScatterElements, or where all numbers of a line differ its short form.
template <bool all_differ>
struct ScatterLines {
  template <class Call>
  using Sum = ScatterSum<typename Call::Result>;
  template <class Call>
  static constexpr AxisSplit split(long n) {
    return axis_split(Call::result, Call::config().axis, n);
  }
  template <class Call>
  static constexpr long count = Call::operand(0).span(Call::config().axis, Call::config().axis + 1);
  template <class Call>
  static constexpr bool has_chains = !all_differ && count<Call> > line_chain;
  template <class Call>
  static constexpr bool in_place = std::is_same_v<Sum<Call>, typename Call::Result>;
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const AxisSplit s = split<Call>(n);
    return (has_chains<Call> + !in_place<Call>)*s.count * s.inner * long(sizeof(Sum<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = Sum<Call>;
    const AxisSplit s = split<Call>(a.n);
    const long size = s.count * s.inner, given = count<Call> * s.inner;
    A* const room = reinterpret_cast<A*>(a.workspace);
    for (long o = begin; o < end; ++o) {
      T* const y = a.result<T>() + o * size;
      A *total, *chain = nullptr;
      if constexpr (in_place<Call>) total = y;
      else total = room;
      if constexpr (has_chains<Call>) chain = room + (in_place<Call> ? 0 : size);
      add_by_number(a.operand<typename Call::template Operand<0>>(0) + o * given, a.operand<T>(1) + o * given,
                    count<Call>, s.inner, s.inner, s.count, total, chain);
      if constexpr (!in_place<Call>)
        for (long i = 0; i < size; ++i) y[i] = static_cast<T>(total[i]);
    }
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct GatherElements;
struct ScatterElements;
struct SortGrad;
struct UpdateElements;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::ScatterElements> : kernel::ScatterLines<false> {};
template <>
struct Kernel<Cpu, ops::SortGrad> : kernel::ScatterLines<true> {};

template <>
struct Kernel<Cpu, ops::GatherElements> {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::operand(0), normalized_axis(Call::config().axis, Call::operand(0).rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit s = split<Call>(a.n);
    constexpr int axis = normalized_axis(Call::config().axis, Call::result.rank);
    constexpr long count = Call::result.span(axis, axis + 1);
    for (long o = begin; o < end; ++o) {
      const auto* const number = a.operand<typename Call::template Operand<1>>(1) + o * count * s.inner;
      const T* const x = a.operand<T>(0) + o * s.count * s.inner;
      T* const y = a.result<T>() + o * count * s.inner;
      for (long j = 0; j < count; ++j)
        for (long i = 0; i < s.inner; ++i) {
          const long row = kernel::table_row(number[j * s.inner + i], s.count);
          y[j * s.inner + i] = row < 0 ? T{} : x[row * s.inner + i];
        }
    }
  }
};

template <>
struct Kernel<Cpu, ops::UpdateElements> {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::result, normalized_axis(Call::config().axis, Call::result.rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit s = split<Call>(a.n);
    constexpr int axis = normalized_axis(Call::config().axis, Call::result.rank);
    constexpr long count = Call::operand(0).span(axis, axis + 1);
    const long size = s.count * s.inner, given = count * s.inner;
    for (long o = begin; o < end; ++o) {
      const auto* const number = a.operand<typename Call::template Operand<0>>(0) + o * given;
      T* const y = a.result<T>() + o * size;
      std::memcpy(static_cast<void*>(y), a.operand<T>(2) + o * size, std::size_t(size) * sizeof(T));
      for (long j = 0; j < given; ++j)
        if (const long row = kernel::table_row(number[j], s.count); row >= 0)
          y[row * s.inner + j % s.inner] = a.operand<T>(1)[o * given + j];
    }
  }
};

}  // namespace tenon
