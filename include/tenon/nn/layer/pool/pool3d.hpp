// Maximum and average pooling of volumes as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/pool3d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a pooling layer of volumes, with MindSpore's defaults. A stride of 0 means the size of the window.
struct Pool3dConfig {
  Triple stride = 1;
  PadMode pad_mode = PadMode::valid;
  Padding3d padding = 0;
  bool count_include_pad = true;  // of averages with PadMode::pad
  constexpr Pool3dOptions options(Triple kernel) const {
    return {kernel, stride, pad_mode, padding, count_include_pad};
  }
};

/// The largest element of each window: `MaxPool3d<2, Pool3dConfig{.stride = 2}>`. The stride is 1 by default.
///
/// x           [n, C, D, H, W]
/// result      [n, C, OD, OH, OW], extents by pad_mode as for MaxPool2d
/// source      MindSpore nn.MaxPool3d, also for the default stride
template <Triple kernel = Triple(1), Pool3dConfig config = Pool3dConfig{}>
struct MaxPool3d : Cell<MaxPool3d<kernel, config>> {
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding3d(0),
                "MaxPool3d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::max_pool3d<config.options(kernel)>(x); }
};

/// The mean of each window: `AvgPool3d<2, Pool3dConfig{.stride = 2}>`. The stride is 1 by default.
///
/// x           [n, C, D, H, W]
/// result      [n, C, OD, OH, OW], extents by pad_mode as for AvgPool2d
/// source      MindSpore nn.AvgPool3d, also for the default stride
template <Triple kernel = Triple(1), Pool3dConfig config = Pool3dConfig{}>
struct AvgPool3d : Cell<AvgPool3d<kernel, config>> {
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding3d(0),
                "AvgPool3d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::avg_pool3d<config.options(kernel)>(x); }
};

}  // namespace tenon::nn
