// Softmax along an axis and its derivative.
#pragma once
#include <limits>

#include <tenon/kernel/cpu/axis.hpp>
#include <tenon/kernel/cpu/lanes.hpp>
#include <tenon/kernel/cpu/math.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template <class A> inline constexpr A larger_of(A a, A b) { return b > a || b != b ? b : a; }  // a NaN wins

/// Softmax of one row:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C.
template <class C, bool logarithm, class T>
inline void softmax_row(const T* x, T* y, long count) {
  const C largest = reduce_runs<C>(x, 1, count, [](long) { return 0l; }, -std::numeric_limits<C>::infinity(), [](C a, C b) { return larger_of(a, b); });
  constexpr bool keep = !logarithm && std::is_same_v<T, C>;
  const C sum = lane_sum<C>(count, [&](long i) {
    const C e = exp(static_cast<C>(x[i]) - largest);
    if constexpr (keep) y[i] = e;
    return e;
  });
  if constexpr (logarithm) {
    const C log_sum = log(sum);
    for (long i = 0; i < count; ++i) y[i] = static_cast<T>((static_cast<C>(x[i]) - largest) - log_sum);
  } else {
    for (long i = 0; i < count; ++i) y[i] = static_cast<T>((keep ? static_cast<C>(y[i]) : exp(static_cast<C>(x[i]) - largest)) / sum);
  }
}

/// The same along an axis that is not the last one, for up to 64 columns; sums in ascending order.
template <class C, bool logarithm, class T>
inline void softmax_columns(const T* x, T* y, long count, long pitch, long columns) {
  C largest[axis_columns], sum[axis_columns]{};
  for (long c = 0; c < columns; ++c) largest[c] = -std::numeric_limits<C>::infinity();
  for (long i = 0; i < count; ++i)
    for (long c = 0; c < columns; ++c) largest[c] = larger_of(largest[c], static_cast<C>(x[i * pitch + c]));
  for (long i = 0; i < count; ++i)
    for (long c = 0; c < columns; ++c) sum[c] += exp(static_cast<C>(x[i * pitch + c]) - largest[c]);
  if constexpr (logarithm)
    for (long c = 0; c < columns; ++c) sum[c] = log(sum[c]);
  for (long i = 0; i < count; ++i)
    for (long c = 0; c < columns; ++c) {
      const C shifted = static_cast<C>(x[i * pitch + c]) - largest[c];
      y[i * pitch + c] = static_cast<T>(logarithm ? shifted - sum[c] : exp(shifted) / sum[c]);
    }
}

template <class C, bool logarithm, class T>
inline void softmax(const AxisSplit& s, const T* x, T* y, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) softmax_row<C, logarithm>(x + offset, y + offset, s.count);
    else softmax_columns<C, logarithm>(x + offset, y + offset, s.count, s.inner, columns);
  });
}

/// dx = y (dy - sum of dy y), in the same order as softmax.
template <class C, class T>
inline void softmax_backward(const AxisSplit& s, const T* y, const T* dy, T* dx, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) {
      const T *row = y + offset, *g = dy + offset;
      const C sum = lane_sum<C>(s.count, [&](long i) { return static_cast<C>(row[i]) * static_cast<C>(g[i]); });
      for (long i = 0; i < s.count; ++i) dx[offset + i] = static_cast<T>(static_cast<C>(row[i]) * (static_cast<C>(g[i]) - sum));
      return;
    }
    C sum[axis_columns]{};
    for (long i = 0; i < s.count; ++i)
      for (long c = 0; c < columns; ++c) sum[c] += static_cast<C>(y[offset + i * s.inner + c]) * static_cast<C>(dy[offset + i * s.inner + c]);
    for (long i = 0; i < s.count; ++i)
      for (long c = 0; c < columns; ++c) {
        const long at = offset + i * s.inner + c;
        dx[at] = static_cast<T>(static_cast<C>(y[at]) * (static_cast<C>(dy[at]) - sum[c]));
      }
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
