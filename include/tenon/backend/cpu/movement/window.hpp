// A part of a tensor along up to three neighbouring axes, to be cut out or put in: slice, split, pad, and their
// derivatives.
#pragma once
#include <tenon/backend/cpu/movement/strided.hpp>

namespace tenon::inline TENON_ABI::kernel {

inline constexpr int window_axes = 3;

/// The axes last - 2 .. last of a tensor, those before and after in one each. Element j of the part along axis k is
/// element first[k] + j step[k] of the whole.
struct Window {
  long outer = 1, inner = 1;
  long whole[window_axes]{1, 1, 1}, part[window_axes]{1, 1, 1}, first[window_axes]{}, step[window_axes]{1, 1, 1};

  constexpr Strided cut() const {
    Strided s;
    long stride[window_axes]{whole[1] * whole[2] * inner, whole[2] * inner, inner};
    s.add(outer, whole[0] * stride[0]);
    for (int k = 0; k < window_axes; ++k) {
      s.add(part[k], step[k] * stride[k]);
      s.start += first[k] * stride[k];
    }
    s.add(inner, 1);
    return s;
  }
  constexpr long rows() const { return outer * whole[0] * whole[1]; }
};

/// Index in the part of element i of the whole along axis k, or -1.
constexpr long window_index(const Window& w, int k, long i) {
  const long distance = i - w.first[k], j = distance / w.step[k];
  return j * w.step[k] == distance && j >= 0 && j < w.part[k] ? j : -1;
}

/// Puts the part into a tensor that is `value` elsewhere: rows [begin, end) of w.rows() along the window's first two
/// axes.
template <class T>
void window_put(const Window& w, const T* part, T* result, T value, long begin, long end);

#if TENON_DEFINES
namespace detail {
/// Sets `count` elements; in blocks, which the compiler makes vectors of.
template <class T>
inline void fill_run(T* to, long count, T value) {
  constexpr long block = 64 / sizeof(T);
  for (; count >= block; count -= block, to += block)
    for (long k = 0; k < block; ++k) to[k] = value;
  for (long k = 0; k < count; ++k) to[k] = value;
}
}  // namespace detail

template <class T>
void window_put(const Window& w, const T* part, T* result, T value, long begin, long end) {
  const long length = w.whole[2] * w.inner;
  for (long row = begin; row < end; ++row) {
    T* const to = result + row * length;
    const long j = window_index(w, 1, row % w.whole[1]), i = window_index(w, 0, row / w.whole[1] % w.whole[0]);
    if (i < 0 || j < 0) {
      detail::fill_run(to, length, value);
      continue;
    }
    const T* const from =
        part + ((row / (w.whole[0] * w.whole[1]) * w.part[0] + i) * w.part[1] + j) * w.part[2] * w.inner;
    if (w.step[2] == 1) {
      const long before = w.first[2] * w.inner, count = w.part[2] * w.inner;
      detail::fill_run(to, before, value);
      __builtin_memcpy(to + before, from, std::size_t(count) * sizeof(T));
      detail::fill_run(to + before + count, length - before - count, value);
    } else {
      detail::fill_run(to, length, value);
      for (long k = 0; k < w.part[2]; ++k)
        detail::copy_line(from + k * w.inner, 1, to + (w.first[2] + k * w.step[2]) * w.inner, w.inner);
    }
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
