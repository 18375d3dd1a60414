// Pooling to a given size as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/adaptive_pool.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The means of `size` windows that cover an image as evenly as possible: `AdaptiveAvgPool2d<Pair(7)>`.
///
/// x           [n, C, H, W]
/// result      [n, C, size.h, size.w]
/// source      MindSpore and PyTorch nn.AdaptiveAvgPool2d
template <Pair size>
struct AdaptiveAvgPool2d : Cell<AdaptiveAvgPool2d<size>> {
  static_assert(size.h > 0 && size.w > 0, "AdaptiveAvgPool2d<size> needs a positive size");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::adaptive_avg_pool2d<size>(x); }
};
/// The largest elements of such windows. The places of the maxima are no result.
template <Pair size>
struct AdaptiveMaxPool2d : Cell<AdaptiveMaxPool2d<size>> {
  static_assert(size.h > 0 && size.w > 0, "AdaptiveMaxPool2d<size> needs a positive size");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::adaptive_max_pool2d<size>(x); }
};
/// The means of `size` windows of sequences [n, C, L], as [n, C, size].
template <int size>
struct AdaptiveAvgPool1d : Cell<AdaptiveAvgPool1d<size>> {
  static_assert(size > 0, "AdaptiveAvgPool1d<size> needs a positive size");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::adaptive_avg_pool1d<size>(x); }
};
/// The largest elements of `size` windows of sequences [n, C, L], as [n, C, size].
template <int size>
struct AdaptiveMaxPool1d : Cell<AdaptiveMaxPool1d<size>> {
  static_assert(size > 0, "AdaptiveMaxPool1d<size> needs a positive size");
  constexpr auto construct(const ops::Operand auto& x) const { return ops::adaptive_max_pool1d<size>(x); }
};

}  // namespace tenon::nn
