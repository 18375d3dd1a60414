// Connectionist temporal classification as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/ctc_loss.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/maximum.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of CTCLoss: the class that means "no label", and whether an infinite loss (of a target with no path) counts
/// as 0, without a gradient.
struct CTCConfig {
  int blank = 0;
  bool zero_infinity = false;
};

/// -ln of the probability of each target, over all ways to place its labels in time (ops::CtcLoss). The default
/// reduction is the mean of the losses, each divided by the length of its target.
///
/// log_probs       [n, T, C], as of log_softmax; PyTorch and MindSpore have [T, n, C]
/// targets         [n, S], classes but the blank; int32 or int64
/// input_lengths, target_lengths [n], the used lengths of T and S; int32 or int64
/// result      a number, or [n] with Reduction::none
/// model       it has four arguments: call it in the network, and give the Model NoLoss
/// source      MindSpore nn.CTCLoss, PyTorch's CTCLoss
template <Reduction reduction = Reduction::mean, CTCConfig config = CTCConfig{}>
struct CTCLoss : Cell<CTCLoss<reduction, config>> {
  constexpr auto construct(const ops::Operand auto& log_probs, const auto& targets, const auto& input_lengths,
                           const auto& target_lengths) const {
    constexpr ops::CtcAttributes attributes{config.blank, config.zero_infinity};
    const auto loss = ops::ctc_loss<attributes>(log_probs, targets, input_lengths, target_lengths);
    if constexpr (reduction != Reduction::mean) return reduced<reduction>(loss);
    else {
      const auto labels = ops::cast<ops::ElementOf<decltype(loss)>>(target_lengths);
      return ops::reduce_mean(loss / ops::maximum(labels, 1));
    }
  }
};

}  // namespace tenon::nn
