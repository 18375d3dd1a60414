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

/// Windows that cover an axis as evenly as possible: window i is the elements begin(i) .. end(i) - 1.
struct EvenWindows {
  long extent, count;
  constexpr long begin(long i) const { return i * extent / count; }
  constexpr long end(long i) const { return ((i + 1) * extent + count - 1) / count; }
  /// The size of all windows that do not have one element more.
  constexpr long size() const { return (extent + count - 1) / count; }
  /// The first and last windows with an element.
  constexpr long first_with(long element) const { return element * count / extent; }
  constexpr long last_with(long element) const { return ((element + 1) * count + extent - 1) / extent - 1; }
};
/// The height and width of an image and of the result of its pooling by such windows.
struct AdaptivePoolAttributes {
  int h = 0, w = 0, oh = 0, ow = 0;
  constexpr EvenWindows rows() const { return {h, oh}; }
  constexpr EvenWindows columns() const { return {w, ow}; }
  /// Sums of more terms than this many per element of the image could be longer than a chain of float32 may be.
  constexpr bool has_long_sums() const { return ((oh - 1L) / h + 2) * ((ow - 1L) / w + 2) > 256; }
};

}  // namespace tenon::ops
