// Convolution by Winograd's minimal filtering.
#pragma once
#include <tenon/ops/conv2d_derivatives.hpp>
#include <tenon/ops/conv2d_shape.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// What convolution and its gradient for the input share.
template <class Op, FixedString Name>
struct Winograd : Operator<Op, Name> {
  using Config = Conv2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = 2;
};
}  // namespace detail

/// Convolution of float32 images with 3 x 3 kernels, 4 x 4 results at a time, by F(4 x 4, 3 x 3): 36 products per
/// channel instead of 144.
///
/// x           [n, C, H, W]; float32
/// weight      [O, C, 3, 3]; stride and dilation 1, one group
/// result      [n, O, OH, OW], extents as of Conv2d
/// derivative  two operators below, which have each other as derivatives
/// order       image and kernel at the points 0, +-5/8, +-3/2, infinity, columns before rows; per point one chain of
///             fused multiply-adds over the channels; from these the results, columns before rows. A value that is not
///             finite affects its whole tile
/// error       of normal images and weights of 64 channels against float64, relative to the root mean square of the
///             results: 7.8e-7 in the mean square, 8.7e-6 at most; a direct convolution has 2.4e-7 and 2.1e-6
/// speed       of direct ones of 64 to 512 channels, 32 to 4 rows and columns, on AVX-512: a batch of 32 takes 0.37 to
///             0.46 of their time; one sample 0.4 to 0.75, but images of 4 x 4 with 512 channels 3 times as long, since
///             all weights are transformed for one tile
/// source      Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), with other points, which
///             round less
struct WinogradConv2d : detail::Winograd<WinogradConv2d, "WinogradConv2D"> {
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return detail::conv_flops(result, in[1], n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType y = detail::conv_shape(in, c, error), w = in[1];
    if (error.empty() && (w[2] != 3 || w[3] != 3 || c.stride_h != 1 || c.stride_w != 1 || c.dilation_h != 1 ||
                          c.dilation_w != 1 || c.groups != 1))
      error << "Conv2d with ConvAlgorithm::winograd needs a kernel of 3 x 3, stride 1, dilation 1, and one group, got "
               "a weight "
            << w << ", stride " << c.stride_h << " x " << c.stride_w << ", dilation " << c.dilation_h << " x "
            << c.dilation_w << ", groups " << c.groups << ": use ConvAlgorithm::direct";
    return y;
  }
  static constexpr void derivative(Derivative& d);
};

/// The gradient of such a convolution with respect to its input. Operands: weight, dy. Result: [n, C, H, W].
struct WinogradConv2dInput : detail::Winograd<WinogradConv2dInput, "WinogradConv2DInput"> {
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return detail::conv_flops(in[1], in[0], n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType x = in[1];
    x.extent[1] = in[0][1], x.extent[2] = c.first, x.extent[3] = c.second;
    return x;
  }
  static constexpr void derivative(Derivative& d);
};

/// The gradient of such a convolution with respect to its weight, by F(3 x 3, 4 x 4). Operands: x, dy. Result: [O, C,
/// 3, 3].
///
/// order       image and gradient at the points; per point chains over 4 tiles and the samples of their block of 16,
///             more tiles in a batch of less than 16, added one after the other
/// error       of normal numbers in a batch of 32, 32 x 32, as above: 8.7e-7 in the mean square, 3.0e-6 at most; the
///             direct gradient has
///             6.0e-7 and 2.2e-6
/// speed       0.4 to 0.65 of the direct gradient's time in a batch of 32, 0.6 to 1 in one of 3
struct WinogradConv2dWeight : Operator<WinogradConv2dWeight, "WinogradConv2DWeight"> {
  using Config = Conv2dAttributes;
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return detail::conv_flops(in[1], result, n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[1][1], in[0][1], c.first, c.second}, 4, in[0].dtype};
  }
  static constexpr void derivative(Derivative& d);
};

using WinogradDerivatives = detail::ConvDerivatives<WinogradConv2d, WinogradConv2dInput, WinogradConv2dWeight>;
constexpr void WinogradConv2d::derivative(Derivative& d) { WinogradDerivatives::of_convolve(d); }
constexpr void WinogradConv2dInput::derivative(Derivative& d) { WinogradDerivatives::of_input(d); }
constexpr void WinogradConv2dWeight::derivative(Derivative& d) { WinogradDerivatives::of_weight(d); }

}  // namespace tenon::ops
