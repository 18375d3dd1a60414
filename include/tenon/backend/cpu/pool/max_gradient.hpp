// The gradient of max pooling from the places of the maxima.
#pragma once

#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/pool/window.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

/// Where each place of a window is, seen from the window's first pixel.
struct PlaceOffsets {
  static constexpr int most = 256;
  std::int32_t at[most];
  explicit PlaceOffsets(const Pool2dSizes& s) {
    for (int r = 0, place = 0; s.kh * s.kw <= most && r < s.kh; ++r)
      for (int k = 0; k < s.kw; ++k) at[place++] = std::int32_t(r * s.w + k);
  }
};
/// sums += dy at the places of the windows of some planes, in the windows' order. The planes take turns: a sum that was
/// just stored is not read at once.
template <int planes, class T, class A, class P>
[[gnu::noinline]] void scatter_planes(const Pool2dSizes& s, const PlaceOffsets& offset, const P* places, const T* dy,
                                      A* sums) {
  const long windows = s.oh * s.ow, pixels = s.h * s.w;
  for (long i = 0; i < s.oh; ++i, places += s.ow, dy += s.ow) {
    A* corner = sums + ((i * s.stride_h - s.pad_top) * s.w - s.pad_left);
    for (long j = 0; j < s.ow; ++j, corner += s.stride_w) {
      A* to[planes];
      A sum[planes];
#pragma GCC unroll 4
      for (int p = 0; p < planes; ++p) {
        const P place = places[p * windows + j];
        to[p] = corner + p * pixels;
        if constexpr (sizeof(P) == 1) to[p] += offset.at[place];
        else to[p] += long(place) / s.kw * s.w + long(place) % s.kw;
        sum[p] = static_cast<A>(*to[p] + static_cast<A>(dy[p * windows + j]));
      }
#pragma GCC unroll 4
      for (int p = 0; p < planes; ++p) *to[p] = sum[p];
    }
  }
}

/// A plane of dy and its places, with room around them: windows that would begin there have no share.
template <class A, class P>
struct SurroundedPlane {
  static constexpr long cells = 16384 / long(sizeof(A)), surplus = 2 * simd_width<A>;
  alignas(64) A dy[cells];
  alignas(64) P place[cells];
};
/// Elements before and after a plane; 0 if gather_plane does not apply. It does where there is a window per pixel: a
/// place outside of the plane is never a maximum, so rows need no border. More taps take longer than scatter_plane.
template <class A>
constexpr long surrounding(const Pool2dSizes& s) {
  const long around = (s.kh - 1) * s.w + s.kw - 1;
  return s.stride_h == 1 && s.stride_w == 1 && s.ow == s.w && s.kh * s.kw <= 16 && around > 0 &&
                 2 * around + (s.h > s.oh ? s.h : s.oh) * s.w + SurroundedPlane<A, char>::surplus <=
                     SurroundedPlane<A, char>::cells
             ? around
             : 0;
}
/// sums = for each pixel what the windows that hold it send back, in their order. `around`: surrounding().
template <class A, class P>
[[gnu::noinline]] void gather_plane(const Pool2dSizes& s, const SurroundedPlane<A, P>& plane, long around, A* sums) {
  using V = Simd<A>;
  const V zero(A(0));
  const long pixels = s.h * s.w, last = around + s.pad_top * s.w + s.pad_left;
  for (long p = 0; p < pixels; p += V::width) {
    V sum = zero;
    for (long r = s.kh - 1, place = s.kh * s.kw - 1; r >= 0; --r)
      for (long k = s.kw - 1; k >= 0; --k, --place) {
        const long window = last + p - r * s.w - k;
        const auto own = load_places<PoolPlace<A>, V::width>(plane.place + window);
        sum = sum + V(own.lanes == PoolPlace<A>(place) ? V::load(plane.dy + window).lanes : zero.lanes);
      }
    sum.store(sums + p);
  }
}

/// max_pool2d_backward where surrounding() is not 0.
template <class T, class P>
[[gnu::noinline]] void gather_planes(const Pool2dSizes& s, long around, const P* places, const T* dy, T* dx, long begin,
                                     long end) {
  using A = PoolValue<T>;
  SurroundedPlane<A, P> plane;
  alignas(64) A sums[SurroundedPlane<A, P>::cells];
  clear(plane.dy, plane.cells);
  clear(plane.place, plane.cells);
  const long windows = s.oh * s.ow, pixels = s.h * s.w;
  for (long p = begin; p < end; ++p) {
    copy_row(dy + p * windows, plane.dy + around, windows);
    __builtin_memcpy(plane.place + around, places + p * windows, std::size_t(windows) * sizeof(P));
    gather_plane(s, plane, around, sums);
    copy_row(sums, dx + p * pixels, pixels);
  }
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
