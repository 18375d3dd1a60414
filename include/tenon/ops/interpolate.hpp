// Images and sequences in another size.
#pragma once
#include <tenon/ops/resample.hpp>
#include <tenon/ops/window.hpp>

namespace tenon::inline TENON_ABI::ops {

/// How elements between those of x are made. linear is bilinear for images, cubic bicubic.
enum class Interpolation : int { nearest, linear, cubic, area };

/// What happens to the part of a filter that lies outside of x: it is multiplied by the elements at the border, or left
/// out, and the weights of the others are made larger.
enum class Outside : int { usual, border, left_out };

/// Settings of interpolate. What is `usual` is that of PyTorch's mode of this name.
struct InterpolateConfig {
  Interpolation mode = Interpolation::nearest;
  /// asymmetric for nearest, else half_pixel.
  Coordinates coordinates = mode == Interpolation::nearest ? Coordinates::asymmetric : Coordinates::half_pixel;
  /// linear and cubic: a smaller image is made of all of x, by filters as wide as an element of the result.
  bool antialias = false;
  Outside outside = Outside::usual;                // left_out with antialias, else border
  float coefficient = antialias ? -0.5f : -0.75f;  // of cubic
  Nearest nearest = Nearest::usual;
};

/// A new size as a multiple of that of x, times / over, rounded down: `interpolate<Scale{2}>(x)`, `Scale{3, 5}`.
struct Scale {
  int times = 1, over = 1;
  constexpr int of(int extent) const { return int(long(extent) * times / over); }
};

namespace detail {
/// Axis number `axis` with `extent` elements; places by the scale, if there is one, else by the extents.
template <int axis, int extent, InterpolateConfig config, Scale scale, class X>
constexpr auto resized(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr bool excludes = config.outside == Outside::usual ? config.antialias : config.outside == Outside::left_out;
    constexpr ResampleConfig c{.axis = axis,
                               .extent = extent,
                               .mode = Resampling(int(Resampling::nearest) + int(config.mode)),
                               .a = int(config.coordinates),
                               .b = scale.times,
                               .c = scale.over,
                               .nearest = config.nearest,
                               .antialias = config.antialias,
                               .exclude_outside = excludes,
                               .cubic = config.coefficient};
    return apply<Resample, c>(at, x);
  }
}
}  // namespace detail

/// Resizes images [n, C, H, W], or sequences [n, C, T] along T:
///
///     interpolate<Pair{224, 224}, InterpolateConfig{.mode = Interpolation::linear, .antialias = true}>(x)
///     interpolate<Pair{7, 5}, Interpolation::linear, Coordinates::align_corners>(x)
///     interpolate<100>(sequences)
///     interpolate<Scale{2}, Interpolation::linear>(x)
///
/// Rows are resized first, then columns. MindSpore's and PyTorch's interpolate; PyTorch's `nearest-exact` has
/// Coordinates::half_pixel, MindSpore's ResizeBilinear without half_pixel_centers has Coordinates::asymmetric. Places
/// are computed from whole numbers, those of PyTorch's nearest in float32. With a Scale they are computed from it, as
/// PyTorch does for a scale_factor. ONNX's Resize has Outside::border also with antialias.
template <Pair size, InterpolateConfig config, Operand X>
constexpr auto interpolate(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.rank == 3) return detail::resized<-1, size.w, config, Scale{0, 0}>(at, x);
  else {
    const auto rows = detail::resized<-2, size.h, config, Scale{0, 0}>(at, x);
    return detail::resized<-1, size.w, config, Scale{0, 0}>(at, rows);
  }
}
template <Pair size, Interpolation mode = Interpolation::nearest,
          Coordinates coordinates = InterpolateConfig{mode}.coordinates>
constexpr auto interpolate(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return interpolate<size, InterpolateConfig{mode, coordinates}>(x, at);
}
template <Scale scale, InterpolateConfig config, Operand X>
constexpr auto interpolate(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(scale.times > 0 && scale.over > 0, "interpolate: a Scale is a quotient of two numbers above 0");
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.rank == 3) return detail::resized<-1, scale.of(X::dims.last()), config, scale>(at, x);
  else {
    constexpr TensorType t = X::dims;
    const auto rows = detail::resized<-2, scale.of(t[t.rank > 1 ? t.rank - 2 : 0]), config, scale>(at, x);
    return detail::resized<-1, scale.of(t.last()), config, scale>(at, rows);
  }
}
template <Scale scale, Interpolation mode = Interpolation::nearest,
          Coordinates coordinates = InterpolateConfig{mode}.coordinates>
constexpr auto interpolate(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return interpolate<scale, InterpolateConfig{mode, coordinates}>(x, at);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::InterpolateConfig;
using ops::Interpolation;
using ops::Outside;
using ops::Scale;
}  // namespace tenon
