// Batch normalization by the statistics of a batch, and its gradients.
#pragma once
#include <tenon/ops/batch_norm_table.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Normalizes a batch by the table of its own statistics:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [n, C, H, W] or [n, C]; table: BatchNormTable of x
/// result      shape and dtype of x
/// derivative  to x through itself and its statistics, to the table's gamma and beta
/// source      Ioffe and Szegedy, arXiv 1502.03167; MindSpore's BatchNorm in training
struct BatchNorm : Operator<BatchNorm, "BatchNorm"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormTableRow;
  static constexpr int operands_before_epilogue = 2;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d);
};

/// Sums for the gradients, as rows gamma and beta of a table: sum of dy xhat, and of dy. Operands: x, table, dy. Not
/// for users.
struct BatchNormSums : Operator<BatchNormSums, "BatchNormSums"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormTableRow;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
};

/// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)), without the means where the statistics
/// are not those of the batch. Operands: x, table, dy, sums. Not for users.
struct BatchNormInputGrad : Operator<BatchNormInputGrad, "BatchNormGrad"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormTableRow;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

constexpr void BatchNorm::derivative(Derivative& d) {
  const Config c = d.config<BatchNorm>();
  const int sums = d.call_with<BatchNormSums>(c, d.operand(0), d.operand(1), d.gradient());
  d.flows_to(1, sums);
  d.flows_to(0, d.call_with<BatchNormInputGrad>(c, d.operand(0), d.operand(1), d.gradient(), sums));
}

/// moving = momentum moving + (1 - momentum) row of the table, in place, unless the table is one of moving statistics.
/// Operands: moving, table. Not for users.
struct UpdateMoving : Operator<UpdateMoving, "UpdateMoving"> {
  using Row = BatchNormTableRow;
  struct Config {
    float momentum = 0.9f;
    int row = 0;
  };
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// gamma / sqrt(variance + epsilon) per channel, for evaluation with moving statistics. Not for users.
///
/// derivative  to gamma only: moving statistics are not trained
struct BatchNormScale : Operator<BatchNormScale, "BatchNormScale"> {
  using Config = BatchNormAttributes;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<BatchNormScale>(d.config<BatchNormScale>(), d.gradient(), d.operand(1)));
  }
};

}  // namespace tenon::ops
