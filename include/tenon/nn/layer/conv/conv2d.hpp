// Two-dimensional convolution as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/conv2d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a Conv2d layer, with MindSpore's defaults. algorithm = ConvAlgorithm::winograd: float32 images with 3 x
/// 3 kernels, stride and dilation 1, one group, are convolved by Winograd's F(4 x 4, 3 x 3), which is faster from some
/// 16 channels on and rounds more.
struct Conv2dConfig {
  Pair stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding padding = 0;
  Pair dilation = 1;
  int groups = 1;
  bool has_bias = false;
  ConvAlgorithm algorithm = ConvAlgorithm::direct;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  /// The number of inputs of an element of the result: a default bias is drawn within 1 / sqrt of this number. A
  /// function of the kernel's type: to g++ 12 a kernel that is an int parameter of the user's template is an int in
  /// default arguments.
  constexpr int fan_in(int channels, Pair kernel) const { return channels_per_group(channels) * kernel.h * kernel.w; }
  constexpr Conv2dOptions options() const { return {stride, pad_mode, padding, dilation, groups, algorithm}; }
};

/// Convolution of images:  y = x * W (+ b per channel)
///
/// x           [n, In, H, W]
/// result      [n, Out, OH, OW]
/// parameters  weight [Out, In / groups, kh, kw];  bias [Out], only with has_bias = true; both uniform within
///             1 / sqrt(In / groups kh kw) by default
/// source      MindSpore nn.Conv2d
template <int In, int Out, Pair kernel, Conv2dConfig config = Conv2dConfig{}, auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(config.fan_in(In, kernel))}>
struct Conv2d : Cell<Conv2d<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel.h > 0 && kernel.w > 0, "Conv2d<In, Out, kernel> needs positive sizes");
  static constexpr bool known_pad_mode =
      config.pad_mode == PadMode::same || config.pad_mode == PadMode::valid || config.pad_mode == PadMode::pad;
  static_assert(known_pad_mode,
                "Conv2d got an unknown pad_mode: legal are PadMode::same, PadMode::valid, PadMode::pad");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding(0),
                "Conv2d: padding counts only with pad_mode = PadMode::pad");
  static_assert(config.groups > 0 && config.stride.h > 0 && config.stride.w > 0 && config.dilation.h > 0 &&
                    config.dilation.w > 0,
                "Conv2d needs stride, dilation, and groups of at least 1");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv2d: groups must divide the input and the output channels");
  static constexpr bool fits_winograd =
      kernel == Pair(3) && config.stride == Pair(1) && config.dilation == Pair(1) && config.groups == 1;
  static_assert(config.algorithm == ConvAlgorithm::direct || fits_winograd,
                "Conv2d: ConvAlgorithm::winograd needs a kernel of 3 x 3, stride 1, dilation 1, and one group");
  Parameter<float, Shape<Out, config.channels_per_group(In), kernel.h, kernel.w>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(ops::Operand auto x) const {
    return add_channel_bias(ops::conv2d<config.options()>(x, weight), bias);
  }
};

}  // namespace tenon::nn
