// Transposed convolution of images and of sequences as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/conv2d_transpose.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a Conv2dTranspose layer, with MindSpore's defaults.
struct Conv2dTransposeConfig {
  Pair stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int groups = 1;
  bool has_bias = false;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  constexpr int fan_in(int channels, Pair kernel) const { return channels_per_group(channels) * kernel.h * kernel.w; }
  constexpr Conv2dTransposeOptions options() const {
    return {stride, pad_mode, padding, output_padding, dilation, groups};
  }
};

/// Transposed convolution of images, which enlarges them by its stride.
///
/// x           [n, In, H, W]
/// result      [n, Out, OH, OW]: with `same` H · stride, with `valid` at least that, with `pad` (H - 1) · stride +
///             reach - padding + output_padding, PyTorch's formula
/// parameters  weight [In, Out / groups, kh, kw]; bias [Out], only with has_bias = true; both uniform within
///             1 / sqrt(Out / groups kh kw) by default
/// source      MindSpore nn.Conv2dTranspose
template <int In, int Out, Pair kernel, Conv2dTransposeConfig config = Conv2dTransposeConfig{},
          auto weight_init = default_weight, auto bias_init = DefaultBias{float(config.fan_in(Out, kernel))}>
struct Conv2dTranspose : Cell<Conv2dTranspose<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel.h > 0 && kernel.w > 0,
                "Conv2dTranspose<In, Out, kernel> needs positive sizes");
  static_assert(config.pad_mode == PadMode::pad || (config.padding == Padding(0) && config.output_padding == Pair(0)),
                "Conv2dTranspose: padding and output_padding count only with pad_mode = PadMode::pad");
  static_assert(config.groups > 0 && config.stride.h > 0 && config.stride.w > 0 && config.dilation.h > 0 &&
                    config.dilation.w > 0,
                "Conv2dTranspose needs stride, dilation, and groups of at least 1");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv2dTranspose: groups must divide the input and the output channels");
  Parameter<float, Shape<In, config.channels_per_group(Out), kernel.h, kernel.w>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const ops::Operand auto& x) const {
    return add_channel_bias(ops::conv2d_transpose<config.options()>(x, weight), bias);
  }
};

/// Settings of a Conv1dTranspose layer, with MindSpore's defaults.
struct Conv1dTransposeConfig {
  int stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding1d padding = 0;
  int output_padding = 0;
  int dilation = 1;
  int groups = 1;
  bool has_bias = false;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  constexpr Conv1dTransposeOptions options() const {
    return {stride, pad_mode, padding, output_padding, dilation, groups};
  }
};

/// Transposed convolution of sequences.
///
/// x           [n, In, L]
/// result      [n, Out, M], extents as of Conv2dTranspose
/// parameters  weight [In, Out / groups, 1, kernel]; bias [Out], only with has_bias = true
/// source      MindSpore nn.Conv1dTranspose
template <int In, int Out, int kernel, Conv1dTransposeConfig config = Conv1dTransposeConfig{},
          auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(config.channels_per_group(Out) * kernel)}>
struct Conv1dTranspose : Cell<Conv1dTranspose<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel > 0, "Conv1dTranspose<In, Out, kernel> needs positive sizes");
  static_assert(config.pad_mode == PadMode::pad || (config.padding == Padding1d(0) && config.output_padding == 0),
                "Conv1dTranspose: padding and output_padding count only with pad_mode = PadMode::pad");
  static_assert(config.groups > 0 && config.stride > 0 && config.dilation > 0,
                "Conv1dTranspose needs stride, dilation, and groups of at least 1");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv1dTranspose: groups must divide the input and the output channels");
  Parameter<float, Shape<In, config.channels_per_group(Out), 1, kernel>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const ops::Operand auto& x) const {
    const auto at = std::source_location::current();
    return ops::where_fits<ops::InputRule<"Conv1dTranspose", "[n,C,L]", 3, In>>(at, x, [&](const auto& v) {
      return ops::detail::as_images(v, at, [&](const auto& image) {
        return add_channel_bias(ops::conv2d_transpose<config.options().image()>(image, weight), bias);
      });
    });
  }
};

}  // namespace tenon::nn
