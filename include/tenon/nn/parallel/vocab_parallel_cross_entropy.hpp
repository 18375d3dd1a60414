// VocabParallelCrossEntropy: softmax cross entropy as a loss, where each rank has the logits of some classes.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/collective/slice_classes.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Cross entropy between softmax(logits) and labels, without a rank that has all logits: the loss behind a
/// ColumnParallelDense whose outputs are classes. The ranks exchange three numbers for each row.
///
/// logits      [..., Classes / Slices], those of this rank's classes
/// labels      int32 or int64 [...] with class numbers 0 .. Classes - 1, equal on all ranks of the group
/// result      a number (mean by default), or [...] with Reduction::none; the same bits on all ranks
/// bits        those of SoftmaxCrossEntropyWithLogits with one slice; otherwise they depend on the number of slices
/// errors      as ColumnParallelDense
/// source      Megatron-LM's vocab_parallel_cross_entropy; PyTorch's loss_parallel
template <int Slices, FixedString group = "world", Reduction reduction = Reduction::mean>
struct VocabParallelCrossEntropy : Cell<VocabParallelCrossEntropy<Slices, group, reduction>> {
  static_assert(Slices > 0, "VocabParallelCrossEntropy<Slices> needs one slice or more");

  constexpr auto construct(ops::Operand auto logits, ops::Operand auto labels) const {
    if constexpr (Slices == 1) return reduced<reduction>(ops::softmax_cross_entropy(logits, labels));
    else return reduced<reduction>(ops::cross_entropy_of_slices<Slices, group>(logits, labels));
  }
};

}  // namespace tenon::nn
