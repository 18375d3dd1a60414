// Maximum and average pooling over windows of an image.
#pragma once
#include <tenon/graph/ir/window_attributes.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/window.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a pooling window. A stride of 0 means the size of the window.
struct Pool2dOptions {
  Pair kernel = 1;
  Pair stride = 0;
  PadMode pad_mode = PadMode::valid;
  Padding padding = 0;
  bool count_include_pad = true;  // of an average with PadMode::pad: zeros of the padding count
};

namespace ops {

namespace detail {
constexpr Pool2dAttributes pool_attributes(const Pool2dOptions& o, const TensorType& x) {
  const int stride_h = o.stride.h ? o.stride.h : o.kernel.h, stride_w = o.stride.w ? o.stride.w : o.kernel.w;
  Pool2dAttributes a{
      o.kernel.h, o.kernel.w, stride_h, stride_w, 0, 0, 0, 0, o.count_include_pad && o.pad_mode == PadMode::pad};
  if (x.rank != 4 || stride_h < 1 || stride_w < 1) return a;
  const WindowAxis v = window_axis(o.pad_mode, x[2], o.kernel.h, stride_h, 1, o.padding.top, o.padding.bottom);
  const WindowAxis h = window_axis(o.pad_mode, x[3], o.kernel.w, stride_w, 1, o.padding.left, o.padding.right);
  a.top = v.before, a.left = h.before, a.oh = v.extent, a.ow = h.extent;
  return a;
}
constexpr TensorType pooled(std::string_view op, const TensorType& x, const Pool2dAttributes& a, Sentence& error) {
  TensorType y = x;
  if (!error.empty()) return y;
  if (x.rank != 4) error << op << " needs an input [n,C,H,W] of rank 4, got " << x;
  else if (a.kh < 1 || a.kw < 1) error << op << " got a window of [" << a.kh << "," << a.kw << "], the least is [1,1]";
  else if (a.stride_h < 1 || a.stride_w < 1)
    error << op << " got a stride of " << a.stride_h << " x " << a.stride_w << ", the least is 1";
  else if (a.oh < 1 || a.ow < 1)
    error << op << " got an input " << x << " smaller than its window [" << a.kh << "," << a.kw << "]";
  else if (a.top >= a.kh || a.left >= a.kw || (a.oh - 1) * a.stride_h - a.top >= x[2] ||
           (a.ow - 1) * a.stride_w - a.left >= x[3])
    error << op << " got a padding of the size of its window [" << a.kh << "," << a.kw
          << "]: windows in the padding alone have no element; pad by less";
  else y.extent[2] = a.oh, y.extent[3] = a.ow;
  return y;
}
// The type of x for that of y.
constexpr TensorType image_of(TensorType y, const Pool2dGradAttributes& c) {
  y.extent[2] = c.h, y.extent[3] = c.w;
  return y;
}
}  // namespace detail

/// dy at the place of each window's first maximum. Operands: the places, which MaxPool2d has kept, and dy. Not for
/// users.
struct MaxPool2dGrad : Operator<MaxPool2dGrad, "MaxPoolGrad"> {
  static constexpr int operands_before_epilogue = 2;
  using Config = Pool2dGradAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return detail::image_of(in[1], c);
  }
  static constexpr void derivative(Derivative& d);
};

/// The element of an image at the place of each window's maximum: the derivative of MaxPool2dGrad. Operands: the
/// places, the image. Its kernels are in <tenon/more.hpp>. Not for users.
struct MaxPool2dTaken : Operator<MaxPool2dTaken, "MaxPoolTaken"> {
  using Config = Pool2dGradAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return in[0].with(in[1].dtype);
  }
  /// Where in its plane element i of the result is, of which `place` is the place in its window.
  TENON_DEVICE static constexpr long from(const Config& c, long i, long place) {
    const long row = i / c.ow * c.stride_h - c.top + place / c.kw,
               column = i % c.ow * c.stride_w - c.left + place % c.kw;
    return row * c.w + column;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call_with<MaxPool2dGrad>(d.config<MaxPool2dTaken>(), d.operand(0), d.gradient()));
    d.no_gradient(0);
  }
};
constexpr void MaxPool2dGrad::derivative(Derivative& d) {
  d.flows_to(1, d.call_with<MaxPool2dTaken>(d.config<MaxPool2dGrad>(), d.operand(0), d.gradient()));
  d.no_gradient(0);
}

/// The largest element of each window; the first one in row-major order wins a tie.
///
/// x           [n, C, H, W]; floating-point or integer
/// result      [n, C, OH, OW], extents by pad_mode; padding is never the largest element
/// derivative  dy to the argmax, whose place in its window, r * kw + k, is kept: a byte, or int32 for windows of more
///             than 256 elements
/// source      MindSpore's MaxPool
struct MaxPool2d : Operator<MaxPool2d, "MaxPool"> {
  using Config = Pool2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr int returns = 1;
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType y = detail::pooled("MaxPool2d", in[0], c, error);
    return {y, y.with(long(c.kh) * c.kw <= 256 ? Dtype::uint8 : Dtype::int32)};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<MaxPool2dGrad>({d.config<MaxPool2d>(), d.type(0)}, d.result(1), d.gradient()));
  }
};

struct AvgPool2d;
/// dy / count spread over each window. Operand: dy. Not for users.
struct AvgPool2dGrad : Operator<AvgPool2dGrad, "AvgPoolGrad"> {
  using Config = Pool2dGradAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return detail::image_of(in[0], c);
  }
  static constexpr void derivative(Derivative& d);
};

/// The mean of each window.
///
/// x           [n, C, H, W]; floating-point
/// result      [n, C, OH, OW], extents by pad_mode. With `same`, padding does not count; with `pad` it does unless
///             count_include_pad is false
/// derivative  dy / count to the whole window
/// order       one chain per window; of more than 128 elements 16 lanes and a tree, as reduce_sum (backend/order.hpp)
/// source      MindSpore's AvgPool
struct AvgPool2d : Operator<AvgPool2d, "AvgPool"> {
  using Config = Pool2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    if (!is_floating(in[0].dtype))
      error << "AvgPool2d needs floating-point numbers, got " << tenon::name(in[0].dtype) << ": cast them";
    return detail::pooled("AvgPool2d", in[0], c, error);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<AvgPool2dGrad>({d.config<AvgPool2d>(), d.type(0)}, d.gradient()));
  }
};

constexpr void AvgPool2dGrad::derivative(Derivative& d) {
  d.flows_to(0, d.call_with<AvgPool2d>(d.config<AvgPool2dGrad>(), d.gradient()));
}

/// `max_pool2d<Pool2dOptions{.kernel = 3, .stride = 2}>(x)`, or `max_pool2d<2>(x)` for window and stride 2.
template <Pool2dOptions options, Operand X>
constexpr auto max_pool2d(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<MaxPool2d, detail::pool_attributes(options, X::dims)>(at, x);
}
template <int window, int stride = window>
constexpr auto max_pool2d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return max_pool2d<Pool2dOptions{.kernel = window, .stride = stride}>(x, at);
}
/// `avg_pool2d<Pool2dOptions{...}>(x)` or `avg_pool2d<2>(x)`.
template <Pool2dOptions options, Operand X>
constexpr auto avg_pool2d(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<AvgPool2d, detail::pool_attributes(options, X::dims)>(at, x);
}
template <int window, int stride = window>
constexpr auto avg_pool2d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return avg_pool2d<Pool2dOptions{.kernel = window, .stride = stride}>(x, at);
}

}  // namespace ops
}  // namespace tenon
