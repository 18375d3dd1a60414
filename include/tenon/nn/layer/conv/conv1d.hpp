// One-dimensional convolution as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/conv1d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a Conv1d layer, with MindSpore's defaults (PyTorch has valid padding and a bias).
struct Conv1dConfig {
  int stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding1d padding = 0;
  int dilation = 1;
  int groups = 1;
  bool has_bias = false;
  constexpr int channels_per_group(int channels) const { return groups > 0 ? channels / groups : channels; }
  constexpr Conv1dOptions options() const { return {stride, pad_mode, padding, dilation, groups}; }
};

/// Convolution of sequences:  y = x * W (+ b per channel)
///
/// x           [n, In, L]
/// result      [n, Out, M], extents by pad_mode as for Conv2d
/// parameters  weight [Out, In / groups, 1, kernel], MindSpore's shape; bias [Out], only with has_bias = true; both
///             uniform within 1 / sqrt(In / groups kernel) by default
/// source      MindSpore nn.Conv1d
template <int In, int Out, int kernel, Conv1dConfig config = Conv1dConfig{}, auto weight_init = default_weight,
          auto bias_init = DefaultBias{float(config.channels_per_group(In) * kernel)}>
struct Conv1d : Cell<Conv1d<In, Out, kernel, config, weight_init, bias_init>> {
  static_assert(In > 0 && Out > 0 && kernel > 0, "Conv1d<In, Out, kernel> needs positive sizes");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding1d(0),
                "Conv1d: padding counts only with pad_mode = PadMode::pad");
  static_assert(config.groups > 0 && config.stride > 0 && config.dilation > 0,
                "Conv1d needs stride, dilation, and groups of at least 1");
  static_assert(config.groups < 1 || (In % config.groups == 0 && Out % config.groups == 0),
                "Conv1d: groups must divide the input and the output channels");
  Parameter<float, Shape<Out, config.channels_per_group(In), 1, kernel>, weight_init> weight;
  OptionalParameter<config.has_bias, float, Shape<Out>, bias_init> bias;

  constexpr auto construct(const ops::Operand auto& x) const {
    const auto at = std::source_location::current();
    return ops::where_fits<ops::InputRule<"Conv1d", "[n,C,L]", 3, In>>(at, x, [&](const auto& v) {
      return ops::detail::as_images(v, at, [&](const auto& image) {
        return add_channel_bias(ops::conv2d<config.options().image()>(image, weight), bias);
      });
    });
  }
};

}  // namespace tenon::nn
