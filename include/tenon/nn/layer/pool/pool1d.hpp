// Maximum and average pooling of sequences as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/pool1d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a pooling layer of sequences, with MindSpore's defaults. A stride of 0 means the size of the window.
struct Pool1dConfig {
  int stride = 1;
  PadMode pad_mode = PadMode::valid;
  Padding1d padding = 0;
  bool count_include_pad = true;  // of averages with PadMode::pad
  constexpr Pool1dOptions options(int kernel) const { return {kernel, stride, pad_mode, padding, count_include_pad}; }
};

/// The largest element of each window: `MaxPool1d<2, Pool1dConfig{.stride = 2}>`. The stride is 1 by default.
///
/// x           [n, C, L]
/// result      [n, C, M], extents by pad_mode as for MaxPool2d
/// source      MindSpore nn.MaxPool1d, also for the default stride
template <int kernel = 1, Pool1dConfig config = Pool1dConfig{}>
struct MaxPool1d : Cell<MaxPool1d<kernel, config>> {
  static_assert(kernel > 0 && config.stride >= 0, "MaxPool1d<kernel> needs a positive window and stride");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding1d(0),
                "MaxPool1d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::max_pool1d<config.options(kernel)>(x); }
};

/// The mean of each window: `AvgPool1d<2, Pool1dConfig{.stride = 2}>`. The stride is 1 by default.
///
/// x           [n, C, L]
/// result      [n, C, M], extents by pad_mode as for AvgPool2d
/// source      MindSpore nn.AvgPool1d, also for the default stride
template <int kernel = 1, Pool1dConfig config = Pool1dConfig{}>
struct AvgPool1d : Cell<AvgPool1d<kernel, config>> {
  static_assert(kernel > 0 && config.stride >= 0, "AvgPool1d<kernel> needs a positive window and stride");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding1d(0),
                "AvgPool1d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::avg_pool1d<config.options(kernel)>(x); }
};

}  // namespace tenon::nn
