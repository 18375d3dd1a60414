// Kullback-Leibler divergence as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/smallest.hpp>
#include <tenon/nn/loss/operand/target.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// t (ln t - x), where t = 0 gives 0; the mean over all elements by default.
///
/// log_probability  x, logarithms, such as of log_softmax; floating-point
/// target      t, probabilities; a shape that broadcasts, the same dtype
/// result      a number, or the elements with Reduction::none. The divergence of the distributions is their sum per
///             sample: with Reduction::sum of all samples (PyTorch's batchmean is that divided by n)
/// special     x = -inf with t = 0 gives NaN, as in PyTorch
/// source      MindSpore nn.KLDivLoss, PyTorch's KLDivLoss
template <Reduction reduction = Reduction::mean>
struct KLDivLoss : Cell<KLDivLoss<reduction>> {
  constexpr auto construct(const ops::Operand auto& log_probability, const auto& labels) const {
    const auto& target = target_of<KLDivLoss>(log_probability, labels);
    const auto log_target = ops::log(ops::maximum(target, smallest_normal<decltype(target)>()));
    return reduced<reduction>(ops::mul(target, ops::sub(log_target, log_probability)));
  }
};

}  // namespace tenon::nn
