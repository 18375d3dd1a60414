// Resampling along an axis: a table of places and weights, then rows or elements.
#pragma once
#include <cstring>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The type in which resampled elements are added up.
template <class T>
using ResampleSum = std::conditional_t<is_floating(dtype_of<T>), Accumulator<T>, T>;

/// a b + c; of integers, whose weights are 1, their sum.
template <class A>
TENON_DEVICE constexpr A add_weighted(A weight, A value, A sum) {
  if constexpr (std::is_floating_point_v<A>) return fmadd(weight, value, sum);
  else return math::wrapping_add(sum, value);
}

/// Places and weights of `taps` elements for each element of the result; a place of -1: none.
template <class A>
struct TapTable {
  std::int32_t* from;
  std::int32_t* run;  // how many elements from here on are neighbours in x, too; negative: in reverse
  A* weight;
  long taps;

  static constexpr long bytes(long out, long taps) {
    return aligned(out * taps * long(sizeof(A))) + (taps + 1) * out * long(sizeof(std::int32_t));
  }
  template <class Config>
  [[gnu::noinline]] TapTable(std::byte* room, const Config& c, long in, long out)
      : from(reinterpret_cast<std::int32_t*>(room + aligned(out * c.most_taps(in, out) * long(sizeof(A))))),
        run(from + out * c.most_taps(in, out)),
        weight(reinterpret_cast<A*>(room)),
        taps(c.most_taps(in, out)) {
    for (long j = 0; j < out; ++j) {
      const auto own = c.taps(in, out, j);
      for (long k = 0; k < taps; ++k) {
        from[j * taps + k] = k < own.count ? std::int32_t(c.inside(own.first + k, in)) : -1;
        if (c.weighted()) weight[j * taps + k] = k < own.count ? c.template weight<A>(in, out, j, k) : A(0);
      }
    }
    for (long j = out; j-- > 0 && taps == 1;) {
      const long step = j + 1 == out ? 0 : from[j] < 0 ? from[j + 1] < 0 : from[j + 1] < 0 ? 0 : from[j + 1] - from[j];
      const std::int32_t next = j + 1 < out ? run[j + 1] : 0;
      run[j] = step == 1 && next > 0                   ? next + 1
               : step == -1 && (next < 0 || next == 1) ? (next < 0 ? next : -1) - 1
                                                       : 1;
    }
  }
  /// Calls f(first, count, place of the first or -1, whether in reverse) for runs from element `begin` to `end`.
  template <class F>
  void each_run(long begin, long end, F f) const {
    for (long j = begin; j < end;) {
      const bool reversed = run[j] < 0;
      const long length = reversed ? -run[j] : run[j], count = length < end - j ? length : end - j;
      f(j, count, long(from[j]), reversed);
      j += count;
    }
  }
};

/// Copies `count` elements, the next ones at from[1] or, in reverse, at from[-1].
template <class T>
inline void copy_run(const T* __restrict from, T* __restrict to, long count, bool reversed) {
  if (reversed) for_each_unrolled(count, [=](long i) { to[i] = from[-i]; });
  else if (count < 8)
    for (long i = 0; i < count; ++i) to[i] = from[i];
  else std::memcpy(static_cast<void*>(to), from, std::size_t(count) * sizeof(T));
}
template <class A, class T>
inline void add_run(const T* __restrict from, A* __restrict to, A weight, long count) {
  for_each_unrolled(count, [=](long i) { to[i] = add_weighted(weight, static_cast<A>(from[i]), to[i]); });
}

/// Rows of `inner` elements: rows begin .. end - 1 of the result, of `out` for each of the outer axes.
template <class A, class T>
[[gnu::noinline]] void resample_rows(const TapTable<A>& table, bool weighted, const T* x, T* y, const AxisSplit& s,
                                     long out, long begin, long end) {
  constexpr long columns = 64;
  const long inner = s.inner;
  if (!weighted) {
    for (long row = begin; row < end;) {
      const long outer = row / out, j = row - outer * out, last = (outer + 1) * out < end ? out : end - outer * out;
      table.each_run(j, last, [&](long first, long count, long place, bool reversed) {
        T* const to = y + (outer * out + first) * inner;
        const T* const source = x + (outer * s.count + place) * inner;
        if (place < 0) std::memset(static_cast<void*>(to), 0, std::size_t(count * inner) * sizeof(T));
        else if (!reversed) copy_run(source, to, count * inner, false);
        else
          for (long r = 0; r < count; ++r) copy_run(source - r * inner, to + r * inner, inner, false);
      });
      row = outer * out + last;
    }
    return;
  }
  for (long row = begin; row < end; ++row) {
    const long j = row % out;
    const T* const source = x + row / out * s.count * inner;
    for (long first = 0; first < inner; first += columns) {
      const long count = first + columns < inner ? columns : inner - first;
      A sum[columns]{};
      for (long k = 0; k < table.taps; ++k) {
        const std::int32_t place = table.from[j * table.taps + k];
        if (place < 0) continue;
        const A weight = table.weight[j * table.taps + k];
        const T* const from = source + place * inner + first;
        for_each_unrolled(count, [&](long i) { sum[i] = add_weighted(weight, static_cast<A>(from[i]), sum[i]); });
      }
      for (long i = 0; i < count; ++i) y[row * inner + first + i] = static_cast<T>(sum[i]);
    }
  }
}
/// Elements of rows: `taps` is a constant or, as 0, that of the table.
template <int taps, class A, class T>
inline void resample_row(const TapTable<A>& table, const T* x, T* y, long out) {
  const long count = taps ? taps : table.taps;
  for (long j = 0; j < out; ++j) {
    A sum(0);
    for (long k = 0; k < count; ++k) {
      const std::int32_t place = table.from[j * count + k];
      if (taps || place >= 0) sum = add_weighted(table.weight[j * count + k], static_cast<A>(x[place]), sum);
    }
    y[j] = static_cast<T>(sum);
  }
}
template <class A, class T>
[[gnu::noinline]] void resample_elements(const TapTable<A>& table, bool weighted, const T* x, T* y, long in, long out,
                                         long begin, long end) {
  long runs = 0;
  bool outside = false;
  if (!weighted) table.each_run(0, out, [&](long, long, long place, bool) { ++runs, outside |= place < 0; });
  for (long o = begin; o < end; ++o) {
    const T* const source = x + o * in;
    T* const to = y + o * out;
    if (!weighted && !outside && runs * 4 > out) for_each_unrolled(out, [&](long j) { to[j] = source[table.from[j]]; });
    else if (!weighted)
      table.each_run(0, out, [&](long first, long count, long place, bool reversed) {
        if (place < 0) std::memset(static_cast<void*>(to + first), 0, std::size_t(count) * sizeof(T));
        else copy_run(source + place, to + first, count, reversed);
      });
    else if (table.taps == 2) resample_row<2>(table, source, to, out);
    else resample_row<0>(table, source, to, out);
  }
}

/// The transposed map for one index of the outer axes: total is [in, inner].
template <class A, class T>
[[gnu::noinline]] void resample_gradient(const TapTable<A>& table, bool weighted, const T* __restrict dy,
                                         A* __restrict total, long in, long out, long inner) {
  for (long i = 0; i < in * inner; ++i) total[i] = A(0);
  if (!weighted)
    return table.each_run(0, out, [&](long first, long count, long place, bool reversed) {
      if (place < 0) return;
      if (!reversed) return add_run(dy + first * inner, total + place * inner, A(1), count * inner);
      for (long r = 0; r < count; ++r) add_run(dy + (first + r) * inner, total + (place - r) * inner, A(1), inner);
    });
  const std::int32_t* place = table.from;
  const A* weight = table.weight;
  for (long j = 0; j < out; ++j)
    for (long k = 0; k < table.taps; ++k, ++place, ++weight) {
      if (*place < 0) continue;
      if (inner == 1) total[*place] = add_weighted(*weight, static_cast<A>(dy[j]), total[*place]);
      else add_run(dy + j * inner, total + *place * inner, *weight, inner);
    }
}

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct Resample;
struct ResampleGrad;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::Resample> {
  template <class Call>
  static constexpr kernel::AxisSplit split(const TensorType& t, long n) {
    return kernel::axis_split(t, normalized_axis(Call::config().axis, t.rank), n);
  }
  template <class Call>
  using Table = kernel::TapTable<kernel::ResampleSum<typename Call::Result>>;
  template <class Call>
  static constexpr long items(long n) {
    const kernel::AxisSplit y = split<Call>(Call::result, n);
    return y.inner == 1 ? y.outer : y.outer * y.count;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const long in = split<Call>(Call::operand(0), n).count, out = split<Call>(Call::result, n).count;
    return Table<Call>::bytes(out, Call::config().most_taps(in, out));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit x = split<Call>(Call::operand(0), a.n);
    const long out = split<Call>(Call::result, a.n).count;
    if (out == 0) return;
    const Table<Call> table(a.workspace, Call::config(), x.count, out);
    constexpr bool weighted = Call::config().weighted();
    if (x.inner == 1)
      kernel::resample_elements(table, weighted, a.operand<T>(0), a.result<T>(), x.count, out, begin, end);
    else kernel::resample_rows(table, weighted, a.operand<T>(0), a.result<T>(), x, out, begin, end);
  }
};

template <>
struct Kernel<Cpu, ops::ResampleGrad> {
  template <class Call>
  using Sum = kernel::ResampleSum<typename Call::Result>;
  template <class Call>
  static constexpr bool in_place = std::is_same_v<Sum<Call>, typename Call::Result>;
  template <class Call>
  static constexpr kernel::AxisSplit split(const TensorType& t, long n) {
    return kernel::axis_split(t, normalized_axis(Call::config().axis, t.rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return split<Call>(Call::result, n).outer;
  }
  template <class Call>
  static constexpr long table_bytes(long n) {
    const long in = split<Call>(Call::result, n).count, out = split<Call>(Call::operand(0), n).count;
    return aligned(kernel::TapTable<Sum<Call>>::bytes(out, Call::config().most_taps(in, out)));
  }
  template <class Call>
  static constexpr long workspace(long n) {
    const kernel::AxisSplit s = split<Call>(Call::result, n);
    return table_bytes<Call>(n) + (in_place<Call> ? 0 : s.count * s.inner * long(sizeof(Sum<Call>)));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const kernel::AxisSplit s = split<Call>(Call::result, a.n);
    const long out = split<Call>(Call::operand(0), a.n).count, size = s.count * s.inner;
    const kernel::TapTable<Sum<Call>> table(a.workspace, Call::config(), s.count, out);
    constexpr bool weighted = Call::config().weighted();
    for (long o = begin; o < end; ++o) {
      T* const dx = a.result<T>() + o * size;
      Sum<Call>* total;
      if constexpr (in_place<Call>) total = dx;
      else total = reinterpret_cast<Sum<Call>*>(a.workspace + table_bytes<Call>(a.n));
      kernel::resample_gradient(table, weighted, a.operand<T>(0) + o * out * s.inner, total, s.count, out, s.inner);
      if constexpr (!in_place<Call>)
        for (long i = 0; i < size; ++i) dx[i] = static_cast<T>(total[i]);
    }
  }
};

}  // namespace tenon
