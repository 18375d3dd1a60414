// Sliding windows over images: the output extents and paddings that convolution and pooling share.
#pragma once
#include <concepts>

#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

/// How an image is padded (MindSpore's pad_mode): same keeps ceil(extent / stride), valid pads nothing, pad uses
/// `padding`.
enum class PadMode : int { same, valid, pad };

/// Height and width; one number sets both.
struct Pair {
  int h = 1, w = 1;
  constexpr Pair() = default;
  constexpr Pair(std::integral auto both) : h(int(both)), w(int(both)) {}  // not from 1.5, which would be cut silently
  constexpr Pair(int height, int width) : h(height), w(width) {}
  constexpr bool operator==(const Pair&) const = default;
};

/// Padding of an image; one number sets all sides.
struct Padding {
  int top = 0, bottom = 0, left = 0, right = 0;
  constexpr Padding() = default;
  constexpr Padding(std::integral auto all) : top(int(all)), bottom(int(all)), left(int(all)), right(int(all)) {}
  constexpr Padding(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
  constexpr bool operator==(const Padding&) const = default;
};

namespace ops {

/// One axis of a window: its first position and the number of its positions.
struct WindowAxis {
  int extent = 0, before = 0;
};

/// Output extent and leading padding of one axis (contract of MindSpore's Conv2d; the odd pixel of `same` goes after).
constexpr WindowAxis window_axis(PadMode mode, int extent, int kernel, int stride, int dilation, int before,
                                 int after) {
  const int reach = (kernel - 1) * dilation + 1;
  if (mode == PadMode::same) {
    const int out = (extent + stride - 1) / stride;
    const int total = (out - 1) * stride + reach - extent;
    return {out, total > 0 ? total / 2 : 0};
  }
  if (mode == PadMode::valid) before = after = 0;
  const int room = extent + before + after - reach;
  return {room < 0 ? 0 : room / stride + 1, before};
}

}  // namespace ops
}  // namespace tenon
