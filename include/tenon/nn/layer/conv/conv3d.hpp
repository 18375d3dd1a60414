// Convolution of volumes and its transpose as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/conv3d.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// x plus one value per channel of volumes.
template <class X, class B>
constexpr auto add_volume_bias(const X& x, const B& bias) {
  if constexpr (std::is_same_v<B, Absent> || is_broken<X>) return x;
  else return ops::add(x, ParameterView<B, Shape<B::dims.extent[0], 1, 1, 1>>{bias});
}
}  // namespace detail

/// Settings of a Conv3d layer, with MindSpore's defaults.
struct Conv3dConfig {
  Triple stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding3d padding = 0;
  Triple dilation = 1;
  int groups = 1;
  bool has_bias = false;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  constexpr int fan_in(int channels, Triple k) const { return channels_per_group(channels) * k.d * k.h * k.w; }
  constexpr Conv3dOptions options() const { return {stride, pad_mode, padding, dilation, groups}; }
};

/// Convolution of volumes:  y = x * W (+ b per channel)
///
/// x           [n, In, D, H, W]
/// result      [n, Out, OD, OH, OW], extents by pad_mode
/// parameters  weight [Out, In / groups, kd, kh, kw]; bias [Out], only with has_bias = true; both uniform within
///             1 / sqrt(In / groups kd kh kw) by default
/// source      MindSpore nn.Conv3d
template <int In, int Out, Triple kernel, Conv3dConfig config = Conv3dConfig{}, auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(config.fan_in(In, kernel))}>
struct Conv3d : Cell<Conv3d<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel.d > 0 && kernel.h > 0 && kernel.w > 0,
                "Conv3d<In, Out, kernel> needs positive sizes");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding3d(0),
                "Conv3d: padding counts only with pad_mode = PadMode::pad");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv3d: groups must divide the input and the output channels");
  Parameter<float, Shape<Out, config.channels_per_group(In), kernel.d, kernel.h, kernel.w>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::add_volume_bias(ops::conv3d<config.options()>(x, value_in(x, weight)), bias);
  }
};

/// Settings of a Conv3dTranspose layer, with MindSpore's defaults.
struct Conv3dTransposeConfig {
  Triple stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding3d padding = 0;
  Triple output_padding = 0;
  Triple dilation = 1;
  int groups = 1;
  bool has_bias = false;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  constexpr int fan_in(int channels, Triple k) const { return channels_per_group(channels) * k.d * k.h * k.w; }
  constexpr Conv3dTransposeOptions options() const {
    return {stride, pad_mode, padding, output_padding, dilation, groups};
  }
};

/// Transposed convolution of volumes, which enlarges them by its stride.
///
/// x           [n, In, D, H, W]
/// result      [n, Out, OD, OH, OW], extents as of Conv2dTranspose
/// parameters  weight [In, Out / groups, kd, kh, kw]; bias [Out], only with has_bias = true
/// source      MindSpore nn.Conv3dTranspose
template <int In, int Out, Triple kernel, Conv3dTransposeConfig config = Conv3dTransposeConfig{},
          auto weight_init = default_weight, auto bias_init = DefaultBias{float(config.fan_in(Out, kernel))}>
struct Conv3dTranspose : Cell<Conv3dTranspose<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel.d > 0 && kernel.h > 0 && kernel.w > 0,
                "Conv3dTranspose<In, Out, kernel> needs positive sizes");
  static_assert(config.pad_mode == PadMode::pad ||
                    (config.padding == Padding3d(0) && config.output_padding == Triple(0)),
                "Conv3dTranspose: padding and output_padding count only with pad_mode = PadMode::pad");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv3dTranspose: groups must divide the input and the output channels");
  Parameter<float, Shape<In, config.channels_per_group(Out), kernel.d, kernel.h, kernel.w>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::add_volume_bias(ops::conv3d_transpose<config.options()>(x, value_in(x, weight)), bias);
  }
};

}  // namespace tenon::nn
