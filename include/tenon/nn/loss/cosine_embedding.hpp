// The angle between two vectors as a loss: small for pairs that belong together, large for others.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/smallest.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// With c the cosine between a and b:  1 - c where y = 1, max(0, c - margin) where y = -1, 0 for another y; the mean by
/// default.
///
/// a, b        [..., D], floating-point, the same dtype
/// y           [...], any dtype
/// margin      -1 .. 1, in the type
/// result      a number, or [...] with Reduction::none
/// limits      1e-12 (2^-14 in float16) is added to both squared lengths, as in PyTorch: the cosine with a vector of
///             zeros is 0, where MindSpore's is NaN
/// derivative  half of it where c = margin, as maximum; PyTorch has 0 there
/// source      MindSpore nn.CosineEmbeddingLoss, PyTorch's CosineEmbeddingLoss
template <Reduction reduction = Reduction::mean, Scalar auto margin = 0>
struct CosineEmbeddingLoss : Cell<CosineEmbeddingLoss<reduction, margin>> {
  static_assert(margin >= -1 && margin <= 1, "CosineEmbeddingLoss needs a margin in -1 .. 1");
  constexpr auto construct(const ops::Operand auto& a, const auto& b, const auto& y) const {
    const auto inverse_length = [](const auto& x) {
      return ops::rsqrt(ops::reduce_sum_square<-1>(x) + loss_epsilon<decltype(x)>());
    };
    const auto cosine = ops::reduce_sum<-1>(ops::mul(a, b)) * inverse_length(a) * inverse_length(b);
    const auto apart = ops::select(ops::equal(y, -1), ops::maximum(cosine - margin, 0), 0);
    return reduced<reduction>(ops::select(ops::equal(y, 1), 1 - cosine, apart));
  }
};

}  // namespace tenon::nn
