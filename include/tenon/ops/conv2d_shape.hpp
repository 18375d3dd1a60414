// The shape rule that convolutions share, and the settings of their gradients.
#pragma once
#include <tenon/graph/ir/window_attributes.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
constexpr Conv2dAttributes with_extents(Conv2dAttributes c, int first, int second) {
  c.first = first, c.second = second;
  return c;
}
/// The type of a convolution's result, or a sentence.
constexpr TensorType conv_shape(const OperandTypes& in, const Conv2dAttributes& c, Sentence& error) {
  const TensorType &x = in[0], &w = in[1];
  TensorType y = x;
  if (x.rank != 4) error << "Conv2d needs an input [n,C,H,W] of rank 4, got " << x;
  else if (w.rank != 4) error << "Conv2d needs a weight [O,C/groups,kh,kw] of rank 4, got " << w;
  else if (!is_floating(x.dtype))
    error << "Conv2d needs floating-point numbers, got " << tenon::name(x.dtype) << ": cast them";
  else if (c.stride_h < 1 || c.stride_w < 1)
    error << "Conv2d got a stride of " << c.stride_h << " x " << c.stride_w << ", the least is 1";
  else if (c.dilation_h < 1 || c.dilation_w < 1)
    error << "Conv2d got a dilation of " << c.dilation_h << " x " << c.dilation_w << ", the least is 1";
  else if (c.groups < 1) error << "Conv2d got " << c.groups << " groups, the least is 1";
  else if (x[1] != w[1] * c.groups)
    error << "Conv2d got an input of " << x[1] << " channels " << x << ", its weight " << w << " needs "
          << w[1] * c.groups;
  else if (w[0] % c.groups != 0)
    error << "Conv2d cannot divide " << w[0] << " output channels in " << c.groups << " groups";
  else if (w.count(1) < 1) error << "Conv2d got a weight " << w << " without elements";
  else if (x.dtype != w.dtype)
    error << "Conv2d got an input of " << tenon::name(x.dtype) << ", its weight is " << tenon::name(w.dtype);
  else if (c.first < 1 || c.second < 1) error << "Conv2d got an input " << x << " smaller than its kernel " << w;
  if (error.empty()) y.extent[1] = w[0], y.extent[2] = c.first, y.extent[3] = c.second;
  return y;
}
/// Floating-point operations of a convolution with results y, and of each of its gradients: those of the definition,
/// also where fewer are computed.
constexpr double conv_flops(const TensorType& y, const TensorType& w, long n) {
  return 2 * double(y.count(n)) * double(w.count(1)) / w[0];
}
}  // namespace detail

}  // namespace tenon::ops
