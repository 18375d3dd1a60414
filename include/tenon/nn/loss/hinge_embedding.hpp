// A loss of distances that should be small for pairs that belong together, and at least a margin for other pairs.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// x where y = 1, max(0, margin - x) where y = -1; the mean over all elements by default.
///
/// distance    x; floating-point
/// y           1 or -1, a shape that broadcasts; any dtype. Any number but 1 counts as -1
/// margin      in the type, 1 by default
/// result      a number, or the elements with Reduction::none
/// derivative  half of it where x = margin, as maximum; PyTorch has 0 there
/// source      MindSpore nn.HingeEmbeddingLoss, PyTorch's HingeEmbeddingLoss
template <Reduction reduction = Reduction::mean, Scalar auto margin = 1>
struct HingeEmbeddingLoss : Cell<HingeEmbeddingLoss<reduction, margin>> {
  constexpr auto construct(const ops::Operand auto& distance, const auto& y) const {
    return reduced<reduction>(ops::select(ops::equal(target_of<HingeEmbeddingLoss, true>(distance, y), 1), distance,
                                          ops::maximum(margin - distance, 0)));
  }
};

}  // namespace tenon::nn
