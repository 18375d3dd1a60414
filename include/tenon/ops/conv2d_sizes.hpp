// The settings of convolutions as graphs store them, the sizes of a call, and its work.
#pragma once
#include <tenon/core/arena.hpp>
#include <tenon/graph/kernel_entry.hpp>
#include <tenon/kernel/cpu/correlation.hpp>

namespace tenon::inline TENON_ABI::ops {

/// What the operators of a convolution need: everything but the extents of their operands.
struct Conv2dAttributes {
  int stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1, groups = 1;
  int first = 0, second = 0;  // extents that a gradient's shape rule cannot know: height and width of x, or of the kernel
};

namespace detail {
/// Sizes of one sample from the types of image x [n,c,h,w], weight [o,c/groups,kh,kw], and result y [n,o,oh,ow].
constexpr kernel::Conv2dSizes conv_sizes(const TensorType& x, const TensorType& w, const TensorType& y, const Conv2dAttributes& a) {
  return {x.size(0, 1), x[1], x[2], x[3], w[0], y[2], y[3], w[2], w[3], a.stride_h, a.stride_w, a.top, a.left, a.dilation_h, a.dilation_w, a.groups};
}
[[gnu::noinline]] constexpr KernelWork conv_work(const kernel::Conv2dSizes& s, long items, std::size_t workspace) {
  return {items, s.n * s.o * s.oh * s.ow * (s.c / s.groups) * s.kh * s.kw / (items + 1) / 16 + 1, aligned(long(workspace))};
}
}  // namespace detail

}  // namespace tenon::ops
