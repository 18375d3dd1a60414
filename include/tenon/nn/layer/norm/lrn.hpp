// Local response normalization as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/lrn.hpp>

namespace tenon::inline TENON_ABI::nn {

/// x / (bias + alpha · sum of x² over 2 depth_radius + 1 neighbouring channels)^beta
///
/// x           [n, C, H, W]
/// result      shape of x
/// source      MindSpore nn.LRN, also for the defaults
template <LRNConfig config = LRNConfig{}>
struct LRN : Cell<LRN<config>> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::lrn<config>(x); }
};

}  // namespace tenon::nn
