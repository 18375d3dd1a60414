// Pooling windows, what all pooling kernels share: the sizes, the rows and columns of a window, its folds.
#pragma once
#include <cstdint>

#include <tenon/backend/cpu/gemm/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// x [planes, h, w], y [planes, oh, ow]; padding below and to the right follows from oh and ow. Planes are the items
/// that threads divide. Each window must meet x (it does in MindSpore's pad modes "same" and "valid", and in "pad" up
/// to half the window).
struct Pool2dSizes {
  long planes, h, w, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left;
};

/// In place of places that are not kept.
struct NoPlaces {};
inline constexpr NoPlaces* no_places = nullptr;

namespace detail {
template <class P>
inline constexpr bool keeps_places = !std::is_same_v<P, NoPlaces>;

// 16-bit floats compare and add up in float, all others as they are.
template <class T>
using PoolValue = Compute<T>;

// The rows and columns of x under one window.
struct PoolWindow {
  long top, bottom, left, right;
};
constexpr PoolWindow window(const Pool2dSizes& s, long i, long j) {
  const long y = i * s.stride_h - s.pad_top, x = j * s.stride_w - s.pad_left;
  return {y > 0 ? y : 0, y + s.kh < s.h ? y + s.kh : s.h, x > 0 ? x : 0, x + s.kw < s.w ? x + s.kw : s.w};
}

/// Whether an element of a window takes over from the best one before it: if it is greater or NaN. Of several NaN the
/// last one wins, as in PyTorch. Of vectors, all bits of the lanes where it does.
template <class T>
[[gnu::always_inline]] constexpr bool takes_over(T x, T best) {
  return x > best || x != x;
}
template <class T, int W>
[[gnu::always_inline]] inline auto takes_over(Simd<T, W> x, Simd<T, W> best) {
  return (x.lanes > best.lanes) | (x.lanes != x.lanes);
}

/// What vectors count places in a window with, r * kw + k for row r and column k.
template <class A>
using PoolPlace = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
/// Such places as lanes.
template <class I, int W, class P>
[[gnu::always_inline]] inline Simd<I, W> load_places(const P* from) {
  typedef P Narrow __attribute__((vector_size(sizeof(P) * W), aligned(alignof(P)), may_alias));
  [[maybe_unused]] const auto* const narrow = reinterpret_cast<const Narrow*>(from);
#if defined(__AVX2__) && !defined(__clang__)
  // g++ would widen the elements one by one
  if constexpr (sizeof(P) == 1 && sizeof(I) * W >= 16 && sizeof(I) * W <= simd_bytes) {
    Simd<I, W> wide;
    if constexpr (sizeof(I) == 4) asm("vpmovzxbd {%1, %0|%0, %1}" : "=v"(wide.lanes) : "m"(*narrow));
    else asm("vpmovzxbq {%1, %0|%0, %1}" : "=v"(wide.lanes) : "m"(*narrow));
    return wide;
  } else
#endif
    return Simd<I, W>(__builtin_convertvector(*narrow, typename Simd<I, W>::Vector));
}
template <class P, class I, int W>
[[gnu::always_inline]] inline void store_places(Simd<I, W> places, P* to) {
  typedef P Narrow __attribute__((vector_size(sizeof(P) * W), aligned(alignof(P)), may_alias));
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
  // g++ would narrow the elements one by one
  if constexpr (sizeof(P) == 1 && sizeof(I) == 4 && W >= 4 && W <= simd_width<I>) {
    using Quad = Simd<I, 4>;
    auto low = tenon::detail::shuffled<Quad>(places, places, std::integer_sequence<int, 0, 1, 2, 3>());
    const auto high =
        tenon::detail::shuffled<Quad>(places, places, std::integer_sequence<int, W - 4, W - 3, W - 2, W - 1>());
    asm("vpackusdw {%2, %1, %0|%0, %1, %2}" : "=x"(low.lanes) : "x"(low.lanes), "x"(high.lanes));
    asm("vpackuswb {%1, %1, %0|%0, %1, %1}" : "=x"(low.lanes) : "x"(low.lanes));
    auto& narrow = *reinterpret_cast<Narrow*>(to);
    if constexpr (W == 8) asm("vmovq {%1, %0|%0, %1}" : "=m"(narrow) : "x"(low.lanes));
    else asm("vmovd {%1, %0|%0, %1}" : "=m"(narrow) : "x"(low.lanes));
  } else
#endif
    *reinterpret_cast<Narrow*>(to) = __builtin_convertvector(places.lanes, Narrow);
}

/// `count` places as elements of another integer type.
template <class I, class P>
[[gnu::noinline]] void narrow_places(const I* from, P* to, long count) {
  constexpr int width = simd_width<I>;
  long c = 0;
  for (; c + width <= count; c += width) store_places(Simd<I>::load(from + c), to + c);
  for (; c < count; ++c) to[c] = static_cast<P>(from[c]);
}

/// The maximum where no element is NaN.
struct NumbersMaximum {
  template <class V>
  [[gnu::always_inline]] static V first(V x) {
    return x;
  }
  template <class V>
  [[gnu::always_inline]] static V next(V best, V x) {
    return max(x, best);
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

// The windows of a row that are not cut at the left or right: [whole_begin, whole_end).
constexpr long whole_begin(const Pool2dSizes& s) { return (s.pad_left + s.stride_w - 1) / s.stride_w; }
constexpr long whole_end(const Pool2dSizes& s) {
  const long end = s.w + s.pad_left < s.kw ? 0 : (s.w + s.pad_left - s.kw) / s.stride_w + 1;
  return end < s.ow ? end : s.ow;
}

/// Elements of a row that grid.hpp computes at a time.
template <class A>
inline constexpr long grid_step = 2 * simd_width<A>;

/// True if all windows lie within their planes and a row of them fills vectors: then they need no copy with padding.
/// With a stride of 2 and more than four taps the copy, which sorts columns, pays nevertheless.
template <class A>
constexpr bool lie_open(const Pool2dSizes& s) {
  const long columns = (s.ow - 1) * s.stride_w;
  return (s.stride_w != 2 || s.kh * s.kw <= 4) && s.pad_top == 0 && s.pad_left == 0 && columns + s.kw <= s.w &&
         (s.oh - 1) * s.stride_h + s.kh <= s.h && columns >= grid_step<A>;
}

/// Whether averages are sums in lanes, no longer one chain.
constexpr bool is_large(const Pool2dSizes& s) { return long(s.kh) * s.kw > most_window_chain; }

// What an average divides by: the window with the padding, or only the elements of x in it.
constexpr long divisor(const Pool2dSizes& s, const PoolWindow& at, bool count_include_pad) {
  return count_include_pad ? long(s.kh) * s.kw : (at.bottom - at.top) * (at.right - at.left);
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
