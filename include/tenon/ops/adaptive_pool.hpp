// Pooling to a given size: adaptive average and maximum pooling.
#pragma once
#include <tenon/ops/concat.hpp>
#include <tenon/ops/pool1d.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Window `i` of `count` along an axis: as equal as they can be, and one element in two of them where they cannot.
constexpr Part adaptive_part(int extent, int count, int i) {
  return {int(long(i) * extent / count), int((long(i + 1) * extent + count - 1) / count), 1};
}
template <bool largest, Pool2dOptions options, class X>
constexpr auto pooled_by(const X& x, const std::source_location& at) {
  if constexpr (largest) return max_pool2d<options>(x, at);
  else return avg_pool2d<options>(x, at);
}
/// Pools one axis, 2 or 3, of images to `count` windows: a part of the image each, unless all have one size.
template <bool largest, int axis, int count, class X>
constexpr auto adaptive_axis(const X& x, const std::source_location& at) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr int extent = X::dims.extent[axis];
    if constexpr (extent == count) return x;
    else if constexpr (extent % count == 0)
      return pooled_by<largest, Pool2dOptions{.kernel = axis == 2 ? Pair(extent / count, 1) : Pair(1, extent / count)}>(
          x, at);
    else
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        const auto window = [&]<int i>(std::integral_constant<int, i>) {
          constexpr Part part = adaptive_part(extent, count, i), all{};
          constexpr int size = part.end - part.begin;
          return pooled_by<largest, Pool2dOptions{.kernel = axis == 2 ? Pair(size, 1) : Pair(1, size)}>(
              slice < all, all, axis == 2 ? part : all, axis == 3 ? part : all > (x, at), at);
        };
        return concat<axis>(window(std::integral_constant<int, I>{})...);
      }(std::make_integer_sequence<int, count>{});
  }
}
template <Pair size>
struct AdaptiveRule {
  static constexpr FixedString name{"AdaptivePool2d"};
  static constexpr bool holds(const TensorType& x) { return x.rank == 4 && size.h > 0 && size.w > 0; }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "adaptive pooling to [" << size.h << "," << size.w << "] needs an input [n,C,H,W] of rank 4, got " << x;
  }
};
// The columns first: of equal elements the first one in row-major order then gets the gradient of a maximum.
template <bool largest, Pair size, class X>
constexpr auto adaptive_pool(const X& x, const std::source_location& at) {
  return where_fits<AdaptiveRule<size>>(at, x, [&](const auto& v) {
    using V = std::remove_cvref_t<decltype(v)>;
    constexpr int h = V::dims[2], w = V::dims[3];
    if constexpr (h % size.h == 0 && w % size.w == 0)
      return pooled_by<largest, Pool2dOptions{.kernel = Pair(h / size.h, w / size.w)}>(v, at);
    else return adaptive_axis<largest, 2, size.h>(adaptive_axis<largest, 3, size.w>(v, at), at);
  });
}
}  // namespace detail

/// The means of [h, w] windows that cover an image as evenly as possible: `adaptive_avg_pool2d<Pair(7)>(x)`.
///
/// x           [n, C, H, W]; floating-point
/// result      [n, C, h, w]; window i of an axis is floor(i H / h) .. ceil((i + 1) H / h) - 1
/// order       of windows of several sizes first the columns, then the rows, as avg_pool2d
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
