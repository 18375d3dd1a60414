// The settings of convolutions and of pooling, which operators share with their kernels on all targets.
#pragma once
#include <tenon/graph/ir/operator.hpp>

namespace tenon::inline TENON_ABI::ops {

/// What the operators of a convolution need: everything but the extents of their operands.
struct Conv2dAttributes {
  int stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1, groups = 1;
  // extents that a gradient's shape rule cannot know: height and width of x, or of the kernel
  int first = 0, second = 0;
};
/// The window of a pooling, and the height and width of its result.
struct Pool2dAttributes {
  int kh = 1, kw = 1, stride_h = 1, stride_w = 1, top = 0, left = 0, oh = 0, ow = 0, count_include_pad = 0;
  constexpr bool operator==(const Pool2dAttributes&) const = default;
};
/// The same with the height and width of the image, which the shape rule of a gradient cannot know.
struct Pool2dGradAttributes {
  int kh = 1, kw = 1, stride_h = 1, stride_w = 1, top = 0, left = 0, oh = 0, ow = 0, count_include_pad = 0, h = 0,
      w = 0;
  constexpr Pool2dGradAttributes() = default;
  constexpr Pool2dGradAttributes(const Pool2dAttributes& a, const TensorType& x)
      : kh(a.kh),
        kw(a.kw),
        stride_h(a.stride_h),
        stride_w(a.stride_w),
        top(a.top),
        left(a.left),
        oh(a.oh),
        ow(a.ow),
        count_include_pad(a.count_include_pad),
        h(x[2]),
        w(x[3]) {}
  constexpr operator Pool2dAttributes() const {
    return {kh, kw, stride_h, stride_w, top, left, oh, ow, count_include_pad};
  }
};

}  // namespace tenon::ops
