// Softmax and cross entropy in one operator, with class numbers or with a distribution as labels.
#pragma once
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Labels that are class numbers. `among`: which tensor has the classes last.
constexpr IndexRange class_numbers(int operand, int among, long classes) {
  return {.operand = operand,
          .high = classes,
          .among = among,
          .number = "label",
          .have = "classes of the prediction",
          .advice = "give the last layer more outputs"};
}
/// Operand 1 holds class numbers where it has an axis less than the logits.
constexpr IndexRange class_numbers(const OperandTypes& in) {
  return in[1].rank == in[0].rank ? IndexRange{} : class_numbers(1, 0, in[0].last());
}

/// dlogits = (softmax(logits) - target) * dy, per row. Operands: logits, labels, dy. Not for users.
struct SoftmaxCrossEntropyGrad : Operator<SoftmaxCrossEntropyGrad, "SoftmaxCrossEntropyGrad"> {
  static constexpr bool per_sample = true;
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), g = d.gradient();
    TensorType column = d.type(0);
    column.extent[column.rank - 1] = 1;
    const int dy = d.call_with<Reshape>(Reshape::to(column), d.operand(2));
    int scaled = d.call<Mul>(g, dy);
    if (d.type(1).rank == d.type(0).rank)  // shares need not add up to 1
      scaled = d.call<Mul>(scaled, d.call_with<SumTo>(SumTo::to(column), d.operand(1)));
    d.flows_to(0, d.call<SoftmaxGrad>(d.call<Softmax>(x), scaled));
    const int one = d.call_with<BroadcastTo>(SumTo::to(d.type(2)), d.constant(1)),
              difference = d.call<SoftmaxCrossEntropyGrad>(x, d.operand(1), one);
    const int sum = d.call_with<SumTo>(SumTo::to(column), d.call<Mul>(difference, g));
    if (d.type(1).rank == d.type(0).rank) {  // of shares: dy (sum of g softmax(x) - g)
      const int mean = d.call_with<SumTo>(SumTo::to(column), d.call<Mul>(g, d.call<Softmax>(x)));
      d.flows_to(1, d.call<Mul>(d.call<Sub>(mean, g), dy));
    } else d.no_gradient(1);
    d.flows_to(2, d.call_with<Reshape>(Reshape::to(d.type(2)), sum));
  }
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  // Asked here, too: a graph that wants the gradient alone computes no loss.
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) { return class_numbers(in); }
};

/// Cross entropy between softmax(logits) and labels, per row:  y = log Σ exp(x) - x[label],  or
/// Σ t (log Σ exp(x) - x); computed from x - max, so that large logits lose no digits
///
/// logits      [..., C]; floating-point
/// labels      [...] of int32 or int64 with classes 0 .. C - 1, or [..., C] of the logits' dtype. Other class numbers
///             throw ValueError; a Model checks those of its data before the step (train/step/labels.hpp)
/// result      [...]
/// derivative  (Σ t softmax(logits) - t) dy, where t is 1 for the class of a label; for distributions as labels
///             -log_softmax(logits) dy; none for class numbers
/// order       sums over classes in 16 lanes, as softmax
/// source      MindSpore's SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits
struct SoftmaxCrossEntropy : Operator<SoftmaxCrossEntropy, "SoftmaxCrossEntropyWithLogits"> {
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &x = in[0], &labels = in[1];
    const bool classes = labels.dtype == Dtype::int32 || labels.dtype == Dtype::int64;
    TensorType y = x;
    y.rank = x.rank ? x.rank - 1 : 0;
    if (x.rank) y.extent[y.rank] = 0;
    if (x.rank == 0) error << "SoftmaxCrossEntropyWithLogits needs logits [n,classes], got " << x;
    else if (!is_floating(x.dtype))
      error << "SoftmaxCrossEntropyWithLogits needs floating-point logits, got " << tenon::name(x.dtype) << " " << x;
    else if (!classes && labels.dtype != x.dtype)
      error << "SoftmaxCrossEntropyWithLogits needs labels of int32 (class numbers) or " << tenon::name(x.dtype)
            << " (distributions), got " << tenon::name(labels.dtype) << " " << labels;
    else if (classes ? !labels.same_shape(y) : !labels.same_shape(x))
      error << "SoftmaxCrossEntropyWithLogits got logits " << x << " and labels " << labels << " of "
            << tenon::name(labels.dtype) << ", which must be " << (classes ? y : x)
            << (!classes && labels.same_shape(y) ? ", or class numbers of int32" : "");
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) { return class_numbers(in); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<SoftmaxCrossEntropyGrad>(d.operand(0), d.operand(1), d.gradient()));
    if (d.type(1).rank < d.type(0).rank) return d.no_gradient(1);
    TensorType column = d.type(0);
    column.extent[column.rank - 1] = 1;
    const int dy = d.call_with<Reshape>(Reshape::to(column), d.gradient());
    d.flows_to(1, d.call<Neg>(d.call<Mul>(d.call<LogSoftmax>(d.operand(0)), dy)));
  }
};

/// Cross entropy per row; reduce it with reduce_mean or use nn::SoftmaxCrossEntropyWithLogits.
constexpr auto softmax_cross_entropy(const Operand auto& logits, const Operand auto& labels,
                                     std::source_location at = std::source_location::current()) {
  return apply<SoftmaxCrossEntropy>(at, logits, labels);
}

}  // namespace tenon::ops
