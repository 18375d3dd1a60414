// Maximum and average over windows of a plane, and their gradients.
#pragma once
#include <cstddef>

#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// x [planes, h, w], y [planes, oh, ow]; padding below and to the right follows from oh and ow. Planes are the items that threads
/// divide. Each window must meet x (it does in MindSpore's pad modes "same" and "valid", and in "pad" up to half the window).
struct Pool2dSizes {
  long planes, h, w, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left;
};

namespace detail {
// 16-bit floats compare and add up in float, all others as they are.
template <class T>
using PoolValue = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;

// The rows and columns of x under one window.
struct Window {
  long top, bottom, left, right;
};
constexpr Window window(const Pool2dSizes& s, long i, long j) {
  const long y = i * s.stride_h - s.pad_top, x = j * s.stride_w - s.pad_left;
  return {y > 0 ? y : 0, y + s.kh < s.h ? y + s.kh : s.h, x > 0 ? x : 0, x + s.kw < s.w ? x + s.kw : s.w};
}

struct Maximum {
  template <class V>
  [[gnu::always_inline]] static V first(V x) {
    return x;
  }
  template <class T>
  [[gnu::always_inline]] static T next(T sum, T x) {
    return x > sum ? x : sum;
  }
  template <class T, int W>
  [[gnu::always_inline]] static Simd<T, W> next(Simd<T, W> sum, Simd<T, W> x) {
    return max(x, sum);
  }
};
struct Sum {
  template <class V>
  [[gnu::always_inline]] static V first(V x) {
    return V(0) + x;
  }
  template <class V>
  [[gnu::always_inline]] static V next(V sum, V x) {
    return V(sum + x);
  }
};

template <class Fold, class T>
[[gnu::always_inline]] inline PoolValue<T> fold_window(const Pool2dSizes& s, const T* x, const Window& at) {
  using A = PoolValue<T>;
  A sum{};
  for (long y = at.top; y < at.bottom; ++y)
    for (long k = at.left; k < at.right; ++k) {
      const A value = static_cast<A>(x[y * s.w + k]);
      sum = y == at.top && k == at.left ? Fold::first(value) : Fold::next(sum, value);
    }
  return sum;
}

// Lanes are neighbouring windows, none of them cut at the left or right. Strides 1 and 2.
template <class Fold, class V>
[[gnu::always_inline]] inline V fold_windows(const Pool2dSizes& s, const typename V::Element* x, long top, long bottom, long left) {
  V sum{};
  for (long y = top; y < bottom; ++y) {
    const typename V::Element* const at = x + y * s.w + left;
    const auto add = [&](V value, int k) __attribute__((always_inline)) { sum = y == top && k == 0 ? Fold::first(value) : Fold::next(sum, value); };
    if (s.stride_w == 1)
      for (int k = 0; k < s.kw; ++k) add(V::load(at + k), k);
    else
      for (int k = 0; k < s.kw; k += 2) {
        const V a = V::load(at + k), b = V::load(at + k + V::width);
        add(every_second(a, b, 0), k);
        if (k + 1 < s.kw) add(every_second(a, b, 1), k + 1);
      }
  }
  return sum;
}

template <class T>
inline constexpr int pool_lanes = simd_width<T> < 8 ? simd_width<T> : 8;
template <class T>
inline constexpr int half_lanes = pool_lanes<T> == 8 ? 4 : pool_lanes<T>;

// One row of windows; last(value, window) turns the fold into the result.
template <class Fold, int Lanes, class T, class Last>
void pool_row(const Pool2dSizes& s, const T* x, T* y, long i, Last last) {
  using A = PoolValue<T>;
  const auto one = [&](long j) {
    const Window at = window(s, i, j);
    y[j] = static_cast<T>(last(fold_window<Fold>(s, x, at), at));
  };
  long begin = (s.pad_left + s.stride_w - 1) / s.stride_w, end = s.w + s.pad_left < s.kw ? 0 : (s.w + s.pad_left - s.kw) / s.stride_w + 1;
  if (end > s.ow) end = s.ow;
  if constexpr (std::is_same_v<T, A> && std::is_floating_point_v<T>) {
    using V = Simd<T, Lanes>;
    const Window at = window(s, i, begin);
    // A vector of stride 2 reads one element beyond its last window, which must still be in the plane.
    const long beyond = (at.bottom - 1) * s.w + (end - 1) * s.stride_w - s.pad_left + s.kw + 1;
    if (s.stride_w <= 2 && end - begin >= Lanes && beyond <= s.h * s.w) {
      for (long j = 0; j < begin; ++j) one(j);
      for (long j = begin; j < end; j += Lanes) {
        const long start = j + Lanes <= end ? j : end - Lanes;  // the last vector overlaps the one before
        V(last(fold_windows<Fold, V>(s, x, at.top, at.bottom, start * s.stride_w - s.pad_left), window(s, i, start))).store(y + start);
      }
      for (long j = end; j < s.ow; ++j) one(j);
      return;
    }
    if constexpr (Lanes > half_lanes<A>) {
      if (end - begin < Lanes) return pool_row<Fold, half_lanes<A>>(s, x, y, i, last);
    }
  }
  for (long j = 0; j < s.ow; ++j) one(j);
}

template <class Fold, class T, class Last>
[[gnu::noinline]] void pool(const Pool2dSizes& s, const T* x, T* y, long begin, long end, Last last) {
  for (long plane = begin; plane < end; ++plane)
    for (long i = 0; i < s.oh; ++i) pool_row<Fold, pool_lanes<PoolValue<T>>>(s, x + plane * s.h * s.w, y + (plane * s.oh + i) * s.ow, i, last);
}

// Position of the first maximum: the first element begins, a later one takes over only if it is greater.
template <class T>
[[gnu::always_inline]] inline long first_maximum(const Pool2dSizes& s, const T* x, const Window& at) {
  using A = PoolValue<T>;
  long best = at.top * s.w + at.left;
  A value = static_cast<A>(x[best]);
  for (long y = at.top; y < at.bottom; ++y)
    for (long k = at.left; k < at.right; ++k) {
      const A other = static_cast<A>(x[y * s.w + k]);
      best = other > value ? y * s.w + k : best;
      value = other > value ? other : value;
    }
  return best;
}

// The gradient of the maximum for windows of 2 x 2 side by side, for one plane that has been cleared. A value that is greater than all
// before it takes the gradient away from them: the result is that of first_maximum.
template <int Lanes, class T>
[[gnu::noinline]] void spread_maxima_2x2(const Pool2dSizes& s, const T* x, const T* dy, T* dx) {
  using V = Simd<T, Lanes>;
  const V zero(T(0));
  for (long i = 0; i < s.oh; ++i)
    for (long j = 0; j < s.ow; j += Lanes) {
      const long start = j + Lanes <= s.ow ? j : s.ow - Lanes, upper = 2 * i * s.w + 2 * start, lower = upper + s.w;
      const V gradient = V::load(dy + i * s.ow + start);
      const V u0 = V::load(x + upper), u1 = V::load(x + upper + Lanes), l0 = V::load(x + lower), l1 = V::load(x + lower + Lanes);
      const V v[4]{every_second(u0, u1, 0), every_second(u0, u1, 1), every_second(l0, l1, 0), every_second(l0, l1, 1)};
      V best = v[0], out[4]{gradient, zero, zero, zero};
#pragma GCC unroll 4
      for (int t = 1; t < 4; ++t) {
#pragma GCC unroll 4
        for (int before = 0; before < t; ++before) out[before] = choose_greater(v[t], best, zero, out[before]);
        out[t] = choose_greater(v[t], best, gradient, zero);
        best = max(v[t], best);
      }
      for (int half = 0; half < 2; ++half) {
        interleaved(out[0], out[1], half).store(dx + upper + half * Lanes);
        interleaved(out[2], out[3], half).store(dx + lower + half * Lanes);
      }
    }
}

// True if spread_maxima_2x2 applies.
template <class T>
constexpr bool are_2x2(const Pool2dSizes& s) {
  return s.kh == 2 && s.kw == 2 && s.stride_h == 2 && s.stride_w == 2 && s.pad_top == 0 && s.pad_left == 0 && 2 * s.oh <= s.h && 2 * s.ow <= s.w &&
         s.ow >= half_lanes<T>;
}

// Adds up what the windows send back to a plane: spread(sums, i, j, window) for all windows in row-major order.
template <class T, class Spread>
[[gnu::always_inline]] inline void pool_backward(const Pool2dSizes& s, T* dx, long begin, long end, void* workspace, Spread spread) {
  using A = PoolValue<T>;
  for (long plane = begin; plane < end; ++plane) {
    T* const to = dx + plane * s.h * s.w;
    A* sums = static_cast<A*>(workspace);
    if constexpr (std::is_same_v<A, T>) sums = to;
    for (long p = 0; p < s.h * s.w; ++p) sums[p] = A(0);
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) spread(sums, plane, i, j, window(s, i, j));
    if constexpr (!std::is_same_v<A, T>)
      for (long p = 0; p < s.h * s.w; ++p) to[p] = static_cast<T>(sums[p]);
  }
}

// What an average divides by: the window with the padding, or only the elements of x in it.
constexpr long divisor(const Pool2dSizes& s, const Window& at, bool count_include_pad) {
  return count_include_pad ? long(s.kh) * s.kw : (at.bottom - at.top) * (at.right - at.left);
}
}  // namespace detail

/// Bytes of scratch that the two gradients need per thread: sums of 16-bit floats are carried in float, others in dx itself.
template <class T>
constexpr std::size_t pool2d_backward_workspace(const Pool2dSizes& s) {
  return std::is_same_v<T, detail::PoolValue<T>> ? 0 : std::size_t(s.h * s.w) * sizeof(detail::PoolValue<T>);
}

/// y = the maximum of each window, for the planes [begin, end). The first element of a window (row by row, without padding) begins, and
/// a later one takes over only if it is greater: a NaN stays if it comes first, else it is passed over. T: any element type.
template <class T>
void max_pool2d(const Pool2dSizes& s, const T* x, T* y, long begin, long end) {
  detail::pool<detail::Maximum>(s, x, y, begin, end, [](auto value, const detail::Window&) { return value; });
}

/// dx = dy at the place of each window's first maximum (found again from x), added up in row-major order of the windows; else 0.
template <class T>
[[gnu::noinline]] void max_pool2d_backward(const Pool2dSizes& s, const T* x, const T* dy, T* dx, long begin, long end, void* workspace) {
  using A = detail::PoolValue<T>;
  if constexpr (std::is_same_v<A, T> && std::is_floating_point_v<T>)
    if (detail::are_2x2<T>(s)) {
      for (long plane = begin; plane < end; ++plane) {
        const T *const from = x + plane * s.h * s.w, *const gradient = dy + plane * s.oh * s.ow;
        T* const to = dx + plane * s.h * s.w;
        for (long p = 0; p < s.h * s.w; ++p) to[p] = T(0);
        if (s.ow >= detail::pool_lanes<T>) detail::spread_maxima_2x2<detail::pool_lanes<T>>(s, from, gradient, to);
        else detail::spread_maxima_2x2<detail::half_lanes<T>>(s, from, gradient, to);
      }
      return;
    }
  detail::pool_backward(s, dx, begin, end, workspace, [&](A* sums, long plane, long i, long j, const detail::Window& at) {
    A& to = sums[detail::first_maximum(s, x + plane * s.h * s.w, at)];
    to = static_cast<A>(to + static_cast<A>(dy[(plane * s.oh + i) * s.ow + j]));
  });
}

/// y = (((0 + x0) + x1) + ...) / count over the elements of x in each window; count is kh * kw, or without count_include_pad (the rule
/// of pad mode "same") the number of these elements. Floating point only; 16-bit floats add up and divide in float.
template <class T>
void avg_pool2d(const Pool2dSizes& s, const T* x, T* y, bool count_include_pad, long begin, long end) {
  static_assert(!std::is_integral_v<T>);
  detail::pool<detail::Sum>(s, x, y, begin, end, [&s, count_include_pad](auto value, const detail::Window& at) {
    using A = detail::PoolValue<T>;
    return value / decltype(value)(static_cast<A>(detail::divisor(s, at, count_include_pad)));
  });
}

/// dx = for each element the sum, in row-major order of the windows that hold it, of dy / count.
template <class T>
[[gnu::noinline]] void avg_pool2d_backward(const Pool2dSizes& s, const T* dy, T* dx, bool count_include_pad, long begin, long end, void* workspace) {
  static_assert(!std::is_integral_v<T>);
  using A = detail::PoolValue<T>;
  detail::pool_backward(s, dx, begin, end, workspace, [&](A* sums, long plane, long i, long j, const detail::Window& at) {
    const A share = static_cast<A>(dy[(plane * s.oh + i) * s.ow + j]) / static_cast<A>(detail::divisor(s, at, count_include_pad));
    for (long y = at.top; y < at.bottom; ++y)
      for (long k = at.left; k < at.right; ++k) sums[y * s.w + k] += share;
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
