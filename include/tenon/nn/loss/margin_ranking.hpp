// A ranking loss of two scores; the label states which score should be larger.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// max(0, margin - y (a - b)), the mean by default: with y = 1 a should be larger than b, with y = -1 smaller.
///
/// a, b        scores, shapes that broadcast; floating-point, the same dtype
/// y           1 or -1, any dtype
/// margin      in the type, 0 by default
/// result      a number, or the elements with Reduction::none
/// derivative  half of it where y (a - b) = margin, as maximum; PyTorch has 0 there
/// source      MindSpore nn.MarginRankingLoss, PyTorch's MarginRankingLoss
template <Reduction reduction = Reduction::mean, Scalar auto margin = 0>
struct MarginRankingLoss : Cell<MarginRankingLoss<reduction, margin>> {
  constexpr auto construct(const ops::Operand auto& a, const auto& b, const auto& y) const {
    const auto lead = ops::mul(ops::cast<ops::ElementOf<decltype(a)>>(y), ops::sub(a, b));
    return reduced<reduction>(ops::maximum(margin - lead, 0));
  }
};

}  // namespace tenon::nn
