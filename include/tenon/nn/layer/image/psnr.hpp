// Peak signal-to-noise ratio of images as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Peak signal-to-noise ratio in dB:  10 log10(max_val² / mean((x - y)²)) per image; infinite for equal images
///
/// x, y        [n, C, H, W]; floating-point
/// result      [n]
/// source      MindSpore nn.PSNR
struct PSNR : Cell<PSNR> {
  float max_val = 1;  // the largest difference that pixels can have

  constexpr auto construct(const ops::Operand auto& x, const ops::Operand auto& y) const {
    using namespace ops;
    const auto error = reduce_mean<-3, -2, -1>(square(sub(x, y)));
    constexpr float to_decibels = 4.3429448190325183f;  // 10 / ln 10
    return mul(log(div(max_val * max_val, error)), to_decibels);
  }
};

}  // namespace tenon::nn
