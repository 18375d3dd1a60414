// One axis of a tensor, and what is before and after it: softmax and argmax walk along it.
#pragma once
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// The tensor as [outer, count, inner].
struct AxisSplit {
  long outer = 1, count = 1, inner = 1;
};
constexpr AxisSplit axis_split(const TensorType& t, int axis, long n) {
  AxisSplit s;
  for (int k = 0; k < t.rank; ++k) (k < axis ? s.outer : k == axis ? s.count : s.inner) *= t.size(k, n);
  return s;
}

/// Neighbouring columns are walked together, up to 64 at a time.
inline constexpr long axis_columns = 64;
constexpr long axis_items(const AxisSplit& s) { return s.outer * ((s.inner + axis_columns - 1) / axis_columns); }

/// Calls f(offset of the first element, columns) for the parts [begin, end) of axis_items(s).
template <class F>
inline void for_each_columns(const AxisSplit& s, long begin, long end, F f) {
  const long blocks = (s.inner + axis_columns - 1) / axis_columns;
  for (long item = begin; item < end; ++item) {
    const long first = item % blocks * axis_columns, left = s.inner - first;
    f(item / blocks * s.count * s.inner + first, left < axis_columns ? left : axis_columns);
  }
}

}  // namespace tenon::kernel
