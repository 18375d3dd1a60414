// Where the largest or smallest element along an axis stands.
#pragma once
#include <cstdint>

#include <tenon/kernel/cpu/axis.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Index of the best element along the axis; of equal ones the first, and a NaN is better than everything else.
template <class C, bool smallest, class T>
inline void best_index(const AxisSplit& s, const T* x, std::int32_t* y, long begin, long end) {
  for_each_columns(s, begin, end, [&](long offset, long columns) {
    C best[axis_columns];
    std::int32_t at[axis_columns];
    for (long c = 0; c < columns; ++c) best[c] = static_cast<C>(x[offset + c]), at[c] = 0;
    for (long i = 1; i < s.count; ++i)
      for (long c = 0; c < columns; ++c) {
        const C v = static_cast<C>(x[offset + i * s.inner + c]);
        const bool better = (smallest ? v < best[c] : v > best[c]) || (v != v && best[c] == best[c]);
        best[c] = better ? v : best[c];
        at[c] = better ? std::int32_t(i) : at[c];
      }
    const long row = offset / (s.count * s.inner) * s.inner + offset % s.inner;
    for (long c = 0; c < columns; ++c) y[row + c] = at[c];
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
