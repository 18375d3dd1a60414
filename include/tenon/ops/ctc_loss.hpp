// Connectionist temporal classification: negative log-likelihood of a sequence of labels, over all its alignments in
// time.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The class that means "no label", and whether an infinite loss counts as 0, without a gradient.
struct CtcAttributes {
  int blank = 0, zero_infinity = 0;
};

/// Operand 1 holds classes of operand 0.
constexpr IndexRange ctc_targets(const OperandTypes& in) {
  return {.operand = 1,
          .high = in[0].last(),
          .number = "label",
          .have = "classes of the log-probabilities",
          .advice = "give the last layer more outputs"};
}

/// Operands: log_probs, targets, input_lengths, target_lengths, dy. Not for users.
struct CtcLossGrad : Operator<CtcLossGrad, "CTCLossGrad"> {
  using Config = CtcAttributes;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  // Asked here, too: a graph that wants the gradient alone computes no loss.
  static constexpr IndexRange indices(const OperandTypes& in, const Config&) { return ctc_targets(in); }
};

/// Connectionist temporal classification: y = -ln of the probability of the target. The probability is the sum over all
/// paths (a class per frame) that give the target after equal neighbours are merged and blanks are removed
///
/// log_probs       [n, T, C], as of log_softmax; floating-point. PyTorch and MindSpore have [T, n, C]
/// targets         [n, S]; int32 or int64, classes 0 .. C - 1 but the blank. Elements after the length of a target are
///                 not used, but must also be classes, such as 0. Others throw ValueError
/// input_lengths   [n], frames of each sample, 0 .. T; int32 or int64
/// target_lengths  [n], labels of each sample, 0 .. S; int32 or int64
/// result      [n]; infinite where a target has no path, NaN where a length is out of its range
/// derivative  (exp(log_probs) - the share of the paths that have this class at this frame) dy, 0 after the length of
///             a sample, as in PyTorch and MindSpore: right for what log_softmax made, whose rows' sums are known. NaN
///             where the loss is infinite, unless zero_infinity
/// order       in double, whatever the dtype
/// source      Graves and others 2006; MindSpore's ctc_loss, PyTorch's
struct CtcLoss : Operator<CtcLoss, "CTCLoss"> {
  using Config = CtcAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &x = in[0], &targets = in[1];
    if (x.rank != 3 || !is_floating(x.dtype))
      error << "CTCLoss needs floating-point log-probabilities [n,frames,classes], got " << tenon::name(x.dtype) << " "
            << x;
    else if (targets.rank != 2 || targets.extent[0] != x.extent[0])
      error << "CTCLoss got log-probabilities " << x << " and targets " << targets
            << ", which must be [n,labels] with the same n";
    else if (c.blank < 0 || c.blank >= x[2])
      error << "CTCLoss got the blank " << c.blank << ", log-probabilities " << x << " have classes 0 .. " << x[2] - 1;
    TensorType y;
    y.dtype = x.dtype;
    y.extent[y.rank++] = x.extent[0];
    for (int k = 1; k < 4 && error.empty(); ++k)
      if (in[k].dtype != Dtype::int32 && in[k].dtype != Dtype::int64)
        error << "CTCLoss needs targets and lengths of int32 or int64, got " << tenon::name(in[k].dtype) << " "
              << in[k];
      else if (k > 1 && !in[k].same_shape(y))
        error << "CTCLoss got log-probabilities " << x << " and lengths " << in[k] << ", which must be " << y;
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config&) { return ctc_targets(in); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<CtcLossGrad>(d.config<CtcLoss>(), d.operand(0), d.operand(1), d.operand(2), d.operand(3),
                                           d.gradient()));
  }
};

/// The loss of each sample; nn::CTCLoss reduces it. `ctc_loss<ops::CtcAttributes{.blank = 28}>(log_probs, ...)`
template <CtcAttributes attributes = CtcAttributes{}>
constexpr auto ctc_loss(const Operand auto& log_probs, const Operand auto& targets, const Operand auto& input_lengths,
                        const Operand auto& target_lengths, std::source_location at = std::source_location::current()) {
  return apply<CtcLoss, attributes>(at, log_probs, targets, input_lengths, target_lengths);
}

}  // namespace tenon::ops
