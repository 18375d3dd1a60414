// Two-dimensional convolution.
#pragma once
#include <tenon/ops/argmax_lists.hpp>
#include <tenon/ops/conv2d_derivatives.hpp>
#include <tenon/ops/conv2d_shape.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/window.hpp>
#include <tenon/ops/winograd_conv2d.hpp>

namespace tenon::inline TENON_ABI {

/// How a convolution and its gradients are computed. winograd: 3 x 3 kernels at stride 1 take a quarter of the
/// multiplications and round about twice as much (numbers in ops/winograd_conv2d.hpp); images of other dtypes than
/// float32 are computed directly.
enum class ConvAlgorithm : int { direct, winograd };

/// Settings of a convolution. `padding` counts only with PadMode::pad.
struct Conv2dOptions {
  Pair stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding padding = 0;
  Pair dilation = 1;
  int groups = 1;
  ConvAlgorithm algorithm = ConvAlgorithm::direct;
};

namespace ops {

struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;

/// Convolution (cross-correlation) of images with a kernel per output channel.
///
/// x           [n, C, H, W]; float16, bfloat16, float32, float64
/// weight      [O, C / groups, kh, kw]
/// result      [n, O, OH, OW], extents by pad_mode (MindSpore's contract: `same` puts the odd pixel at the bottom and
///             right)
/// derivative  two operators below, which have each other as derivatives
/// order       chains of fused multiply-adds over (channel, row, column) of the kernel per element, padding counts as
///             0; in float32 segments of whole channels, at most 256 steps, one after the other (backend/order.hpp)
/// source      MindSpore's Conv2D
struct Conv2d : Operator<Conv2d, "Conv2D"> {
  using Config = Conv2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = 2;

  /// The settings of a call: paddings follow from the mode and the extents.
  static constexpr Config config(const Conv2dOptions& o, const TensorType& x, const TensorType& w) {
    Config c{o.stride.h, o.stride.w, 0, 0, o.dilation.h, o.dilation.w, o.groups};
    if (x.rank != 4 || w.rank != 4 || o.stride.h < 1 || o.stride.w < 1) return c;
    const WindowAxis v = window_axis(o.pad_mode, x[2], w[2], o.stride.h, o.dilation.h, o.padding.top, o.padding.bottom);
    const WindowAxis h = window_axis(o.pad_mode, x[3], w[3], o.stride.w, o.dilation.w, o.padding.left, o.padding.right);
    c.top = v.before, c.left = h.before, c.first = v.extent, c.second = h.extent;
    return c;
  }
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return detail::conv_flops(result, in[1], n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return detail::conv_shape(in, c, error);
  }
  static constexpr void derivative(Derivative& d);
};

/// The gradient of a convolution with respect to its input. Operands: weight, dy. Result: [n, C, H, W].
struct Conv2dBackwardInput : Operator<Conv2dBackwardInput, "Conv2DBackpropInput"> {
  static constexpr int operands_before_epilogue = 2;
  using Config = Conv2dAttributes;  // first, second: H, W of the result
  static constexpr bool per_sample = true;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return detail::conv_flops(in[1], in[0], n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType x = in[1];
    x.extent[1] = in[0][1] * c.groups, x.extent[2] = c.first, x.extent[3] = c.second;
    return x;
  }
  static constexpr void derivative(Derivative& d);
};

/// The gradient of a convolution with respect to its weight. Operands: x, dy. Result: [O, C / groups, kh, kw].
struct Conv2dBackwardWeight : Operator<Conv2dBackwardWeight, "Conv2DBackpropFilter"> {
  using Config = Conv2dAttributes;  // first, second: extents of the kernel
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return detail::conv_flops(in[1], result, n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[1][1], in[0][1] / c.groups, c.first, c.second}, 4, in[0].dtype};
  }
  static constexpr void derivative(Derivative& d);
};

using Conv2dDerivatives = detail::ConvDerivatives<Conv2d, Conv2dBackwardInput, Conv2dBackwardWeight>;
constexpr void Conv2d::derivative(Derivative& d) { Conv2dDerivatives::of_convolve(d); }
constexpr void Conv2dBackwardInput::derivative(Derivative& d) { Conv2dDerivatives::of_input(d); }
constexpr void Conv2dBackwardWeight::derivative(Derivative& d) { Conv2dDerivatives::of_weight(d); }

/// Convolves x with weight: `conv2d<Conv2dOptions{.stride = 2, .pad_mode = PadMode::same}>(x, weight)`.
template <Conv2dOptions options = Conv2dOptions{}, Operand X, Operand W>
constexpr auto conv2d(const X& x, const W& weight, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (options.algorithm == ConvAlgorithm::winograd && X::dims.dtype == Dtype::float32)
    return apply<WinogradConv2d, Conv2d::config(options, X::dims, W::dims)>(at, x, weight);
  else return apply<Conv2d, Conv2d::config(options, X::dims, W::dims)>(at, x, weight);
}

}  // namespace ops
}  // namespace tenon
