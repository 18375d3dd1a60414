// Images and sequences in another size.
#pragma once
#include <tenon/ops/resample.hpp>
#include <tenon/ops/window.hpp>

namespace tenon::inline TENON_ABI::ops {

/// How elements between those of x are made. linear is bilinear for images, cubic bicubic, with the coefficient -0.75.
enum class Interpolation : int { nearest, linear, cubic, area };

namespace detail {
template <int axis, int extent, Interpolation mode, Coordinates coordinates, class X>
constexpr auto resized(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr Resampling as = Resampling(int(Resampling::nearest) + int(mode));
    return apply<Resample, ResampleConfig{axis, extent, as, int(coordinates)}>(at, x);
  }
}
/// nearest takes the element before, unless it is asked for another one: as in PyTorch and MindSpore.
constexpr Coordinates usual(Interpolation mode) {
  return mode == Interpolation::nearest ? Coordinates::asymmetric : Coordinates::half_pixel;
}
}  // namespace detail

/// Resizes images [n, C, H, W], or sequences [n, C, T] along T:
///
///     interpolate<Pair{224, 224}, Interpolation::linear>(x)
///     interpolate<Pair{7, 5}, Interpolation::linear, Coordinates::align_corners>(x)
///     interpolate<100>(sequences)
///
/// Rows are resized first, then columns. MindSpore's and PyTorch's interpolate; PyTorch's `nearest-exact` has
/// Coordinates::half_pixel, MindSpore's ResizeBilinear without half_pixel_centers has Coordinates::asymmetric. Places
/// are computed from whole numbers, those of PyTorch's nearest in float32.
template <Pair size, Interpolation mode = Interpolation::nearest, Coordinates coordinates = detail::usual(mode),
          Operand X>
constexpr auto interpolate(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.rank == 3) return detail::resized<-1, size.w, mode, coordinates>(at, x);
  else {
    const auto rows = detail::resized<-2, size.h, mode, coordinates>(at, x);
    return detail::resized<-1, size.w, mode, coordinates>(at, rows);
  }
}

}  // namespace tenon::ops
