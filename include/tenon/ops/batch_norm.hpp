// Batch normalization: statistics of a batch per channel, normalization by them, and the gradients.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings: `rank` is 2 for rows [n,C] or 4 for images [n,C,H,W].
struct BatchNormAttributes {
  float epsilon = 1e-5f;
  int rank = 4;
  constexpr const char* name() const { return rank == 2 ? "BatchNorm1d" : "BatchNorm2d"; }
};
/// Rows of the statistics, each of C numbers.
struct BatchNormRow {
  enum Row : int { mean, variance, unbiased_variance, rows };
};

/// Statistics of a batch per channel. Not for users.
///
/// x           [n, C, H, W] or [n, C]; floating-point. Throws ValueError if a channel has one value only
/// more        moving mean and variance [C], and a number that is not 0 if they stand for the batch's statistics: then
///             the unbiased variance is -1
/// result      [3, C]: mean, biased variance, unbiased variance; float32, or float64 of a float64 x
/// derivative  none: what x contributes through its statistics is part of BatchNorm's derivative
/// order       two passes: mean, then deviations and what the rounded mean lacks. Float32 images with an n: as in
///             backend/cpu/nchw16n/layout.hpp. Other images: each plane in 16 lanes, planes in order of samples, both
///             in chains and trees as rows [n,C] are (backend/cpu/reduce/sum_tree.hpp)
struct BatchNormStatistics : Operator<BatchNormStatistics, "BatchNormStatistics"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr bool float_parameters = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& x = in[0];
    if (x.rank != c.rank)
      error << c.name() << " needs an input " << (c.rank == 2 ? "[n,C]" : "[n,C,H,W]") << " of rank " << c.rank
            << ", got " << x;
    else if (!is_floating(x.dtype))
      error << c.name() << " needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (!x.batched() && x.count(1) == x[1])
      error << c.name() << " in training needs more than 1 value per channel, got " << x;
    return {{Row::rows, x[1]}, 2, x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32};
  }
  static constexpr LeastBatch least_batch(const OperandTypes& in) {
    const TensorType& x = in[0];
    return {x.batched() && x.count(1) == x[1] ? 2 : 1,
            x.rank == 2 ? "BatchNorm1d in training" : "BatchNorm2d in training", "more than 1 value per channel"};
  }
};

/// Sums for the gradients per channel, each [C]: of dy xhat, the gradient of gamma, and of dy, that of beta. Operands:
/// x, statistics, dy. Not for users.
struct BatchNormSums : Operator<BatchNormSums, "BatchNormSums"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr None derivative{};
  static constexpr ResultTypes shape(const OperandTypes& in, const Config&, Sentence&) {
    const TensorType channels{{in[1][1]}, 1, in[1].dtype};
    return {channels, channels};
  }
};

/// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)), without the means where the statistics
/// are not those of the batch. Operands: x, statistics, dy, gamma, both sums. Not for users.
struct BatchNormInputGrad : Operator<BatchNormInputGrad, "BatchNormGrad"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// Normalizes a batch by its statistics:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [n, C, H, W] or [n, C]; statistics: BatchNormStatistics of x
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// result      shape and dtype of x
/// derivative  to x through itself and its statistics, to gamma and beta
/// source      Ioffe and Szegedy, arXiv 1502.03167; MindSpore's BatchNorm in training
struct BatchNorm : Operator<BatchNorm, "BatchNorm"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr bool float_parameters = true;
  static constexpr int operands_before_epilogue = 4;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[2];
    if (x[1] != gamma[0])
      error << c.name() << " got an input of " << x[1] << " channels " << x << ", its gamma " << gamma << " needs "
            << gamma[0];
    else if (gamma.dtype != in[1].dtype || in[3].dtype != in[1].dtype)
      error << c.name() << " of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(in[1].dtype)
            << ", got " << tenon::name(gamma.dtype);
    return x;
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<BatchNorm>();
    const int x = d.operand(0), statistics = d.operand(1), dy = d.gradient(),
              to_gamma = d.call_with<BatchNormSums>(c, x, statistics, dy), to_beta = d.result_of(to_gamma, 1);
    d.flows_to(2, to_gamma);
    d.flows_to(3, to_beta);
    d.flows_to(0, d.call_with<BatchNormInputGrad>(c, x, statistics, dy, d.operand(2), to_gamma, to_beta));
  }
};

/// moving = momentum moving + (1 - momentum) row of the statistics, in place, unless these are moving ones. Operands:
/// moving, statistics. Not for users.
struct UpdateMoving : Operator<UpdateMoving, "UpdateMoving"> {
  using Row = BatchNormRow;
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
