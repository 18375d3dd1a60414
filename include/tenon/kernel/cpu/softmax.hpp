// Softmax along an axis and its derivative.
#pragma once
#include <limits>

#include <tenon/kernel/cpu/axis.hpp>
#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/cpu/lanes.hpp>
#include <tenon/kernel/cpu/math.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template <class A>
inline constexpr A larger_of(A a, A b) {
  return b > a || b != b ? b : a;
}  // a NaN wins

/// Softmax of one row:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C.
template <class C, bool logarithm, class T>
inline void softmax_row(const T* x, T* y, long count) {
  const C largest = reduce_runs<C>(
      x, 1, count, [](long) { return 0l; }, -std::numeric_limits<C>::infinity(), [](C a, C b) { return larger_of(a, b); });
  const auto shifted = [x, largest](long i) { return static_cast<C>(x[i]) - largest; };
  if constexpr (logarithm) {
    const C log_sum = log(lane_sum<C>(count, [&](long i) { return exp(shifted(i)); }));
    store_in_blocks(y, count, [&](long i) { return shifted(i) - log_sum; });
  } else if constexpr (std::is_same_v<T, C>) {
    store_in_blocks(y, count, [&](long i) { return exp(shifted(i)); });
    const C sum = lane_sum<C>(count, [y](long i) { return y[i]; });
    store_in_blocks(y, count, [y, sum](long i) { return y[i] / sum; });
  } else {  // the powers would lose digits in y
    const C sum = lane_sum<C>(count, [&](long i) { return exp(shifted(i)); });
    store_in_blocks(y, count, [&](long i) { return exp(shifted(i)) / sum; });
  }
}

/// The same along an axis that is not the last one, for up to 64 columns; sums in ascending order.
template <class C, bool logarithm, class T>
inline void softmax_columns(const T* x, T* y, long count, long pitch, long columns) {
  C largest[axis_columns], sum[axis_columns]{};
  for (C& l : largest) l = -std::numeric_limits<C>::infinity();
  for (long i = 0; i < count; ++i) in_blocks(columns, [&, row = x + i * pitch](long c) { largest[c] = larger_of(largest[c], static_cast<C>(row[c])); });
  for (long i = 0; i < count; ++i) in_blocks(columns, [&, row = x + i * pitch](long c) { sum[c] += exp(static_cast<C>(row[c]) - largest[c]); });
  if constexpr (logarithm) in_blocks(columns, [&](long c) { sum[c] = log(sum[c]); });
  for (long i = 0; i < count; ++i)
    store_in_blocks(y + i * pitch, columns, [&, row = x + i * pitch](long c) {
      const C shifted = static_cast<C>(row[c]) - largest[c];
      return logarithm ? shifted - sum[c] : exp(shifted) / sum[c];
    });
}

template <class C, bool logarithm, class T>
inline void softmax(const AxisSplit& s, const T* x, T* y, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) softmax_row<C, logarithm>(x + offset, y + offset, s.count);
    else softmax_columns<C, logarithm>(x + offset, y + offset, s.count, s.inner, columns);
  });
}

/// dx = y (dy - sum of y dy), for one row or up to 64 columns, in the same order as softmax.
template <class C, class T>
inline void softmax_backward_row(const T* y, const T* dy, T* dx, long count) {
  const C sum = lane_sum<C>(count, [&](long i) { return static_cast<C>(y[i]) * static_cast<C>(dy[i]); });
  store_in_blocks(dx, count, [&](long i) { return static_cast<C>(y[i]) * (static_cast<C>(dy[i]) - sum); });
}
template <class C, class T>
inline void softmax_backward_columns(const T* y, const T* dy, T* dx, long count, long pitch, long columns) {
  C sum[axis_columns]{};
  for (long i = 0; i < count; ++i)
    in_blocks(columns, [&, y = y + i * pitch, dy = dy + i * pitch](long c) { sum[c] += static_cast<C>(y[c]) * static_cast<C>(dy[c]); });
  for (long i = 0; i < count; ++i)
    store_in_blocks(dx + i * pitch, columns,
                    [&, y = y + i * pitch, dy = dy + i * pitch](long c) { return static_cast<C>(y[c]) * (static_cast<C>(dy[c]) - sum[c]); });
}

template <class C, class T>
inline void softmax_backward(const AxisSplit& s, const T* y, const T* dy, T* dx, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    if (s.inner == 1) softmax_backward_row<C>(y + offset, dy + offset, dx + offset, s.count);
    else softmax_backward_columns<C>(y + offset, dy + offset, dx + offset, s.count, s.inner, columns);
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
