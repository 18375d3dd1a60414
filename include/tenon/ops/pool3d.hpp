// Maximum and average pooling over windows of a volume.
#pragma once
#include <tenon/ops/conv3d.hpp>
#include <tenon/ops/pool2d.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a pooling window of volumes. A stride of 0 means the size of the window.
struct Pool3dOptions {
  Triple kernel = 1;
  Triple stride = 0;
  PadMode pad_mode = PadMode::valid;
  Padding3d padding = 0;
  bool count_include_pad = true;  // of an average with PadMode::pad: zeros of the padding count
  /// The window within a plane, and the one along the depth of images whose rows are planes.
  constexpr Pool2dOptions plane() const {
    return {kernel.plane(), stride.plane(), pad_mode, padding.plane(), count_include_pad};
  }
  constexpr Pool2dOptions depth() const {
    return {Pair(kernel.d, 1), Pair(stride.d ? stride.d : kernel.d, 1), pad_mode,
            Padding(padding.front, padding.back, 0, 0), count_include_pad};
  }
};

namespace ops {

namespace detail {
struct LargestOfWindow {
  template <Pool2dOptions o>
  static constexpr auto of(const auto& image, const std::source_location& at) {
    return max_pool2d<o>(image, at);
  }
};
struct MeanOfWindow {
  template <Pool2dOptions o>
  static constexpr auto of(const auto& image, const std::source_location& at) {
    return avg_pool2d<o>(image, at);
  }
};
/// `Pool` of the planes of a volume, then of their depth.
template <class Pool, Pool3dOptions o, class X>
constexpr auto pooled_volume(const X& x, const std::source_location& at) {
  constexpr TensorType t = X::dims;
  constexpr TensorType planes{{t[0], t[1] * t[2], t[3], t[4]}, 4, t.dtype};
  const auto flat = Pool::template of<o.plane()>(apply<Reshape, Reshape::to(planes)>(at, x), at);
  if constexpr (is_broken<decltype(flat)>) return flat;
  else {
    constexpr TensorType p = decltype(flat)::dims;
    constexpr TensorType rows{{t[0], t[1], t[2], p[2] * p[3]}, 4, t.dtype};
    const auto deep = Pool::template of<o.depth()>(apply<Reshape, Reshape::to(rows)>(at, flat), at);
    if constexpr (is_broken<decltype(deep)>) return deep;
    else {
      constexpr TensorType volume{{t[0], t[1], decltype(deep)::dims[2], p[2], p[3]}, 5, t.dtype};
      return apply<Reshape, Reshape::to(volume)>(at, deep);
    }
  }
}
}  // namespace detail

/// The largest element of each window: `max_pool3d<Pool3dOptions{.kernel = 3, .stride = 2}>(x)`, or `max_pool3d<2>(x)`
/// for window and stride 2.
///
/// x           [n, C, D, H, W]
/// result      [n, C, OD, OH, OW], extents by pad_mode
/// source      MindSpore's MaxPool3D; computed as max_pool2d of planes, then along the depth
template <Pool3dOptions options, Operand X>
constexpr auto max_pool3d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"MaxPool3d", "[n,C,D,H,W]", 5>>(
      at, x, [&](const auto& v) { return detail::pooled_volume<detail::LargestOfWindow, options>(v, at); });
}
template <int window, int stride = window>
constexpr auto max_pool3d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return max_pool3d<Pool3dOptions{.kernel = window, .stride = stride}>(x, at);
}
/// The mean of each window, as max_pool3d: the mean along the depth of the means of planes.
template <Pool3dOptions options, Operand X>
constexpr auto avg_pool3d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"AvgPool3d", "[n,C,D,H,W]", 5>>(
      at, x, [&](const auto& v) { return detail::pooled_volume<detail::MeanOfWindow, options>(v, at); });
}
template <int window, int stride = window>
constexpr auto avg_pool3d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return avg_pool3d<Pool3dOptions{.kernel = window, .stride = stride}>(x, at);
}

}  // namespace ops
}  // namespace tenon
