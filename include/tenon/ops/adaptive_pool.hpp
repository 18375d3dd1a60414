// Pooling to a given size: adaptive average and maximum pooling.
#pragma once
#include <tenon/ops/adaptive_max_pool.hpp>
#include <tenon/ops/pool1d.hpp>
#include <tenon/ops/resample.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <Pair size>
struct AdaptiveRule {
  static constexpr FixedString name{"AdaptivePool2d"};
  static constexpr bool holds(const TensorType& x) { return x.rank == 4 && size.h > 0 && size.w > 0; }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "adaptive pooling to [" << size.h << "," << size.w << "] needs an input [n,C,H,W] of rank 4, got " << x;
  }
};
template <bool largest, Pair size, class X>
constexpr auto adaptive_pool(const X& x, const std::source_location& at) {
  return where_fits<AdaptiveRule<size>>(at, x, [&](const auto& v) {
    constexpr int h = X::dims[2], w = X::dims[3];
    if constexpr (h % size.h == 0 && w % size.w == 0) {
      constexpr Pool2dOptions windows{.kernel = Pair(h / size.h, w / size.w)};
      if constexpr (largest) return max_pool2d<windows>(v, at);
      else return avg_pool2d<windows>(v, at);
    } else if constexpr (largest) return apply<AdaptiveMaxPool, AdaptivePoolAttributes{h, w, size.h, size.w}>(at, v);
    else  // the mean of both axes is that of the means of one
      return apply<Resample, ResampleConfig{3, size.w, Resampling::area}>(
          at, apply<Resample, ResampleConfig{2, size.h, Resampling::area}>(at, v));
  });
}
}  // namespace detail

/// The means of [h, w] windows that cover an image as evenly as possible: `adaptive_avg_pool2d<Pair(7)>(x)`.
///
/// x           [n, C, H, W]; floating-point
/// result      [n, C, h, w]; window i of an axis is floor(i H / h) .. ceil((i + 1) H / h) - 1
/// order       of windows of several sizes first the rows, then the columns, as interpolate with area
/// source      MindSpore's and PyTorch's AdaptiveAvgPool2d
template <Pair size, Operand X>
constexpr auto adaptive_avg_pool2d(const X& x, std::source_location at = std::source_location::current()) {
  return detail::adaptive_pool<false, size>(x, at);
}
/// The largest elements of such windows; the first one in row-major order wins a tie. Without places as a result.
template <Pair size, Operand X>
constexpr auto adaptive_max_pool2d(const X& x, std::source_location at = std::source_location::current()) {
  return detail::adaptive_pool<true, size>(x, at);
}
/// The means of `size` windows of sequences [n, C, L].
template <int size, Operand X>
constexpr auto adaptive_avg_pool1d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"AdaptiveAvgPool1d", "[n,C,L]", 3>>(at, x, [&](const auto& v) {
    return detail::as_images(v, at, [&](const auto& i) { return adaptive_avg_pool2d<Pair(1, size)>(i, at); });
  });
}
/// The largest elements of `size` windows of sequences [n, C, L].
template <int size, Operand X>
constexpr auto adaptive_max_pool1d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"AdaptiveMaxPool1d", "[n,C,L]", 3>>(at, x, [&](const auto& v) {
    return detail::as_images(v, at, [&](const auto& i) { return adaptive_max_pool2d<Pair(1, size)>(i, at); });
  });
}

}  // namespace tenon::ops
