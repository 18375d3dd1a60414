// Softmax along an axis and its derivative.
#pragma once
#include <limits>

#include <tenon/kernel/cpu/axis.hpp>
#include <tenon/kernel/cpu/blocks.hpp>
#include <tenon/kernel/cpu/lanes.hpp>
#include <tenon/kernel/cpu/math.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The largest of a row; a NaN is passed over, and spoils the row later through its exponential.
template <class C, int lanes = reduce_lanes, class T>
inline C row_maximum(const T* x, long count) {
  C lane[lanes];
  for (C& l : lane) l = -std::numeric_limits<C>::infinity();
  const long whole = count - count % lanes;
  detail::Operand<lanes == reduce_lanes, T> operand{x, {}};
  for (long i = 0; i < whole; i += lanes) {
    operand.load(i);
    for (int l = 0; l < lanes; ++l) lane[l] = Larger()(lane[l], lanes == reduce_lanes ? static_cast<C>(operand.in_block(i, l)) : static_cast<C>(x[i + l]));
  }
  for (long i = whole; i < count; ++i) lane[i - whole] = Larger()(lane[i - whole], static_cast<C>(x[i]));
  return fold_lanes(lane, Larger());
}

/// The sum of exp(x - largest) over a row, in 16 lanes; with `keep` y[i] = exp(x[i] - largest), too. The last block is filled up
/// with exponentials of minus infinity, which are 0: one vector is faster than a few numbers one by one.
template <bool keep, int lanes = reduce_lanes, class C, class T>
inline C exponentials(const T* x, T* y, long count, C largest) {
  C lane[lanes]{}, value[lanes];
  detail::Operand<lanes == reduce_lanes, T> operand{x, {}};
  for (long i = 0; i < count; i += lanes) {
    const long live = count - i < lanes ? count - i : lanes;
    if (live == lanes) {
      operand.load(i);
      for (int l = 0; l < lanes; ++l) value[l] = lanes == reduce_lanes ? static_cast<C>(operand.in_block(i, l)) : static_cast<C>(x[i + l]);
    } else
      for (int l = 0; l < lanes; ++l) value[l] = l < live ? static_cast<C>(x[i + l]) : -std::numeric_limits<C>::infinity();
    for (int l = 0; l < lanes; ++l) lane[l] += value[l] = exp(value[l] - largest);
    if constexpr (keep) {
      if (live == lanes)
        for (int l = 0; l < lanes; ++l) y[i + l] = value[l];
      else
        for (int l = 0; l < live; ++l) y[i + l] = value[l];
    }
  }
  return fold_lanes(lane, Plus());
}

/// Softmax of one row:  y = exp(x - max) / sum, or its logarithm x - max - log(sum). Computed in C.
template <class C, bool logarithm, class T>
inline void softmax_row(const T* x, T* y, long count) {
  const C largest = row_maximum<C>(x, count);
  constexpr bool keep = !logarithm && std::is_same_v<T, C>;  // the exponentials would lose digits in y
  const C sum = exponentials<keep>(x, y, count, largest);
  if constexpr (logarithm) map_in_blocks<true>(y, count, [largest, log_sum = log(sum)](auto value) { return static_cast<C>(value) - largest - log_sum; }, x);
  else if constexpr (keep) store_in_blocks(y, count, [y, sum](long i) { return y[i] / sum; });
  else map_in_blocks<true>(y, count, [largest, sum](auto value) { return exp(static_cast<C>(value) - largest) / sum; }, x);
}

/// The same along an axis that is not the last one, for up to 64 columns; sums in ascending order.
template <class C, bool logarithm, class T>
inline void softmax_columns(const T* x, T* y, long count, long pitch, long columns) {
  C largest[axis_columns], sum[axis_columns]{};
  for (C& l : largest) l = -std::numeric_limits<C>::infinity();
  for (long i = 0; i < count; ++i) in_blocks(columns, [&, row = x + i * pitch](long c) { largest[c] = Larger()(largest[c], static_cast<C>(row[c])); });
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
  const C sum = lane_sum<C>(count, [](auto y, auto dy) { return static_cast<C>(y) * static_cast<C>(dy); }, y, dy);
  map_in_blocks<true, true>(dx, count, [sum](auto y, auto dy) { return static_cast<C>(y) * (static_cast<C>(dy) - sum); }, y, dy);
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
