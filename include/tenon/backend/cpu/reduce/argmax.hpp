// Argmax and argmin: where the largest or smallest element along an axis stands.
#pragma once
#include <cstdint>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/backend/cpu/reduce/reduce.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// A NaN is better than everything else, of equal elements none is better.
template <bool smallest, class C>
TENON_DEVICE constexpr bool is_better(C v, C best) {
  return (smallest ? v < best : v > best) | ((v != v) & (best == best));
}

/// Index of the best element of one row; the first of equal ones.
template <class C, bool smallest, class T>
inline std::int32_t best_in_row(const T* x, long count) {
  const C best = reduce_runs<C>(
      x, 1, count, [](long) { return 0l; }, static_cast<C>(x[0]),
      [](C a, C b) { return is_better<smallest>(b, a) ? b : a; });
  std::int32_t at = 0;
  while (static_cast<C>(x[at]) != best && best == best) ++at;
  while (best != best && static_cast<C>(x[at]) == static_cast<C>(x[at])) ++at;
  return at;
}

/// The same for up to 64 columns.
template <class C, bool smallest, class T>
inline void best_in_columns(const T* x, std::int32_t* y, long count, long pitch, long columns) {
  C best[axis_columns];
  std::int32_t at[axis_columns]{};
  for (long c = 0; c < columns; ++c) best[c] = static_cast<C>(x[c]);
  for (long i = 1; i < count; ++i)
    for_each_unrolled(columns, [&, row = x + i * pitch](long c) {
      const C v = static_cast<C>(row[c]);
      const bool better = is_better<smallest>(v, best[c]);
      best[c] = better ? v : best[c];
      at[c] = better ? std::int32_t(i) : at[c];
    });
  for (long c = 0; c < columns; ++c) y[c] = at[c];
}

/// Index of the best element along the axis, for the parts [begin, end) of axis_items(s).
template <class C, bool smallest, class T>
inline void best_index(const AxisSplit& s, const T* x, std::int32_t* y, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) y[offset / s.count] = best_in_row<C, smallest>(x + offset, s.count);
    else
      best_in_columns<C, smallest>(x + offset, y + offset / (s.count * s.inner) * s.inner + offset % s.inner, s.count,
                                   s.inner, columns);
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct ArgMax;
}

template <>
struct Kernel<Cpu, ops::ArgMax> {
  template <class Call>
  static constexpr kernel::AxisSplit split(long n) {
    return kernel::axis_split(Call::operand(0), normalized_axis(Call::config().axis, Call::operand(0).rank), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return kernel::axis_items(split<Call>(n));
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / (items<Call>(n) + 1) + 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::template Operand<0>;
    kernel::AxisSplit along = split<Call>(a.n);
    if constexpr (split<Call>(0).count == 0)  // the axis can be empty: then 0, and nothing is read
      if (along.count == 0) {
        along.count = 1;
        return kernel::for_each_columns(along, begin, end, [&](long first, long columns) {
          for (long c = 0; c < columns; ++c) a.result<std::int32_t>()[first + c] = 0;
        });
      }
    kernel::best_index<Compute<T>, Call::config().smallest != 0>(along, a.operand<T>(0), a.result<std::int32_t>(),
                                                                 begin, end);
  }
};

}  // namespace tenon
