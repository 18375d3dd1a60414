// Maximum pooling as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/pool/pool2d.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The largest element of each window: `MaxPool2d<2, Pool2dConfig{.stride = 2}>`.
///
/// stride      1 by default, so that windows overlap: `MaxPool2d<2>` makes [OH, OW] of [OH + 1, OW + 1]. The function
///             ops::max_pool2d<2>(x) has the window's stride instead
/// x           [n, C, H, W]
/// result      [n, C, OH, OW], extents by pad_mode as for Conv2d
/// source      MindSpore nn.MaxPool2d, also for the default stride
template <Pair kernel = 1, Pool2dConfig config = Pool2dConfig{}>
struct MaxPool2d : Cell<MaxPool2d<kernel, config>> {
  static_assert(kernel.h > 0 && kernel.w > 0 && config.stride.h >= 0 && config.stride.w >= 0,
                "MaxPool2d<kernel> needs a positive window and stride");
  static_assert(config.pad_mode == PadMode::pad || config.padding == Padding(0),
                "MaxPool2d: padding counts only with pad_mode = PadMode::pad");

  constexpr auto construct(const ops::Operand auto& x) const { return ops::max_pool2d<config.options(kernel)>(x); }
};

}  // namespace tenon::nn
