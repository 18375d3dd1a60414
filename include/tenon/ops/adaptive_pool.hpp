// Pooling to a given size: adaptive average and maximum pooling.
#pragma once
#include <tenon/ops/pool1d.hpp>
#include <tenon/ops/resample.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <bool largest, Pool2dOptions options, class X>
constexpr auto pooled_by(const X& x, const std::source_location& at) {
  if constexpr (largest) return max_pool2d<options>(x, at);
  else return avg_pool2d<options>(x, at);
}
/// The size of the largest of `count` windows that cover an axis as evenly as possible: window i is
/// floor(i extent / count) .. ceil((i + 1) extent / count) - 1.
constexpr int largest_window(int extent, int count) {
  int most = 0;
  for (int i = 0; i < count; ++i) {
    const int size = int((long(i + 1) * extent + count - 1) / count - long(i) * extent / count);
    most = size > most ? size : most;
  }
  return most;
}
/// One axis as windows side by side, all of the size of the largest; itself if they are that without repetition.
template <int axis, int count, class X>
constexpr auto side_by_side(const X& x, const std::source_location& at) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.extent[axis] % count == 0) return x;
  else
    return apply<Resample, ResampleConfig{axis, count * largest_window(X::dims.extent[axis], count),
                                          Resampling::adaptive, count}>(at, x);
}
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
    if constexpr (largest || (h % size.h == 0 && w % size.w == 0)) {
      constexpr Pool2dOptions windows{.kernel = Pair(largest_window(h, size.h), largest_window(w, size.w))};
      return pooled_by<largest, windows>(side_by_side<3, size.w>(side_by_side<2, size.h>(v, at), at), at);
    } else  // the mean of both axes is that of the means of one
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
