// Elements along an axis by number, and their sums by number.
#pragma once
#include <tenon/backend/cpu/movement/index/gather.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/core/math/wrapping.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The type in which elements of T are added up by number.
template <class T>
using ScatterSum = std::conditional_t<is_floating(dtype_of<T>), double, T>;

/// Adds `count` rows of `width` neighbours, `inner` apart, to the rows that their numbers name: total[number[j, i], i]
/// += values[j, i].
template <class A, class T, class I>
TENON_DEVICE inline void add_by_number(const I* number, const T* values, long count, long inner, long width,
                                       long extent, A* total) {
  for (long r = 0; r < extent; ++r)
    for (long i = 0; i < width; ++i) total[r * inner + i] = A(0);
  for (long j = 0; j < count; ++j)
    for (long i = 0; i < width; ++i) {
      const long row = table_row(number[j * inner + i], extent);
      if (row < 0) continue;
      A& own = total[row * inner + i];
      own = math::wrapping_add(own, static_cast<A>(static_cast<Compute<T>>(values[j * inner + i])));
    }
}
/// The same for rows of one element, of several lines. A number that does not count from the end takes one comparison.
/// The lines take turns: a sum that was just stored is not read at once.
template <int lines, class A, class T, class I>
inline void add_lines_by_number(const I* number, const T* values, long count, long extent, A* total) {
  store_unrolled(total, lines * extent, [](long) { return A(0); });
  for (long j = 0; j < count; ++j)
#pragma GCC unroll 4
    for (int line = 0; line < lines; ++line) {
      std::uint64_t row = static_cast<std::uint64_t>(number[line * count + j]);
      if (row >= static_cast<std::uint64_t>(extent)) {
        row += static_cast<std::uint64_t>(extent);
        if (row >= static_cast<std::uint64_t>(extent)) continue;
      }
      A& own = total[line * extent + long(row)];
      own = math::wrapping_add(own, static_cast<A>(static_cast<Compute<T>>(values[line * count + j])));
    }
}
template <class T, class A>
TENON_DEVICE constexpr T rounded_sum(A total) {
  return static_cast<T>(static_cast<Compute<T>>(total));
}

/// An element after one that is given for it: 0 replaces it, 1 keeps the larger, 2 the smaller, 3 multiplies; NaN wins.
template <int update, class T>
TENON_DEVICE constexpr T updated(T own, T given) {
  if constexpr (update == 0) return given;
  else {
    const Compute<T> a = static_cast<Compute<T>>(own), b = static_cast<Compute<T>>(given);
    if constexpr (update == 3) return static_cast<T>(math::wrapping_multiply(a, b));
    else return (update == 1 ? b > a : b < a) || b != b ? given : own;
  }
}

/// y[j] = x[number[j]]. Few lines have numbers that count from the end: others take one load each.
template <class T, class I>
[[gnu::noinline]] void gather_line(const T* x, long extent, const I* number, T* y, long count) {
  constexpr long block = 16;
  const long whole = count - count % block;
  I signs[block]{}, all = 0;
  for (long j = 0; j < whole; j += block)
    for (long l = 0; l < block; ++l) signs[l] |= number[j + l];
  for (long l = 0; l < block; ++l) all |= signs[l];
  for (long j = whole; j < count; ++j) all |= number[j];
  if (all < 0) return store_unrolled(y, count, [=](long j) { return x[known_row(number[j], extent)]; });
  for (long j = 0; j < whole; j += block)
#pragma GCC unroll 16
    for (long l = 0; l < block; ++l) y[j + l] = x[number[j + l]];
  for (long j = whole; j < count; ++j) y[j] = x[number[j]];
}

/// Elements of lines are added up by number.
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
  static constexpr bool in_place = std::is_same_v<Sum<Call>, typename Call::Result>;
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(n).outer;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const AxisSplit s = split<Call>(n);
    return in_place<Call> ? 0 : together(s) * s.count * s.inner * long(sizeof(Sum<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = Sum<Call>;
    const AxisSplit s = split<Call>(a.n);
    const long size = s.count * s.inner, given = count<Call> * s.inner;
    for (long o = begin; o < end;) {
      T* const y = a.result<T>() + o * size;
      const auto* const number = a.operand<typename Call::template Operand<0>>(0) + o * given;
      const T* const values = a.operand<T>(1) + o * given;
      A* total;
      if constexpr (in_place<Call>) total = y;
      else total = reinterpret_cast<A*>(a.workspace);
      const long lines = end - o >= together(s) ? together(s) : 1;
      if (lines > 1) add_lines_by_number<most>(number, values, count<Call>, s.count, total);
      else if (s.inner == 1) add_lines_by_number<1>(number, values, count<Call>, s.count, total);
      else add_by_number(number, values, count<Call>, s.inner, s.inner, s.count, total);
      if constexpr (!in_place<Call>)
        store_unrolled(y, lines * size, [total](long i) { return rounded_sum<T>(total[i]); });
      o += lines;
    }
  }

 private:
  // Lines that take turns: short ones, whose sums meet in the same elements often.
  static constexpr int most = 4;
  static constexpr long together(const AxisSplit& s) { return s.inner == 1 && s.count <= 512 ? most : 1; }
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
struct Kernel<Cpu, ops::ScatterElements> : kernel::ScatterLines {};
template <>
struct Kernel<Cpu, ops::SortGrad> : kernel::ScatterLines {};

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
      // numbers are looked at before: none is outside
      if (s.inner == 1) kernel::gather_line(x, s.count, number, y, count);
      else
        for (long j = 0; j < count; ++j)
          kernel::store_unrolled(y + j * s.inner, s.inner, [&, own = number + j * s.inner](long i) {
            return x[long(kernel::known_row(own[i], s.count)) * s.inner + i];
          });
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
      const T* const elements = a.operand<T>(1) + o * given;
      for (long j = 0; j < given; j += s.inner)
        for (long i = 0; i < s.inner; ++i)
          if (const long row = kernel::table_row(number[j + i], s.count); row >= 0) {
            T& own = y[row * s.inner + i];
            own = kernel::updated<Call::config().update>(own, elements[j + i]);
          }
    }
  }
};

}  // namespace tenon
