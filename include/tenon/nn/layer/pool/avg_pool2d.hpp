// Average pooling as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/pool/pool2d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The mean of each window: `AvgPool2d<2, Pool2dConfig{.stride = 2}>`.
///
/// stride      1 by default, so that windows overlap: `AvgPool2d<2>` makes [OH, OW] of [OH + 1, OW + 1]. The function
///             ops::avg_pool2d<2>(x) has the window's stride instead
/// x           [n, C, H, W]
/// result      [n, C, OH, OW], extents by pad_mode as for Conv2d
/// source      MindSpore nn.AvgPool2d, also for the default stride
template <Pair kernel = 1, Pool2dConfig config = Pool2dConfig{}>
struct AvgPool2d : Cell<AvgPool2d<kernel, config>> {
  static_assert(kernel.h > 0 && kernel.w > 0 && config.stride.h >= 0 && config.stride.w >= 0,
                "AvgPool2d<kernel> needs a positive window and stride");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding(0),
                "AvgPool2d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::avg_pool2d<config.options(kernel)>(x); }
};

}  // namespace tenon::nn
