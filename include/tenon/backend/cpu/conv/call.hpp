// The sizes of a call of a convolution, from the types of its tensors, and its work.
#pragma once
#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/core/memory/arena.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// Sizes of one sample from the types of image x [n,c,h,w], weight [o,c/groups,kh,kw], and result y [n,o,oh,ow].
constexpr Conv2dSizes conv_sizes(const TensorType& x, const TensorType& w, const TensorType& y,
                                 const ops::Conv2dAttributes& a) {
  return {x.size(0, 1), x[1],       x[2],       x[3],  w[0],   y[2],         y[3],         w[2],
          w[3],         a.stride_h, a.stride_w, a.top, a.left, a.dilation_h, a.dilation_w, a.groups};
}
/// The work of a convolution or of one of its gradients.
[[gnu::noinline]] constexpr KernelWork conv_work(const Conv2dSizes& s, long items, std::size_t workspace) {
  return {items, s.n * s.o * s.oh * s.ow * (s.c / s.groups) * s.kh * s.kw / (items > 0 ? items : 1) / 16 + 1,
          aligned(long(workspace))};
}

}  // namespace tenon::kernel
