// Batch normalization: statistics of a batch per channel, normalization by them, and the gradients.
#pragma once
#include <tenon/ops/cast.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/sub.hpp>

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
///
/// derivative  to x also through the statistics, and to dy
struct BatchNormSums : Operator<BatchNormSums, "BatchNormSums"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr void derivative(Derivative& d);
  static constexpr ResultTypes shape(const OperandTypes& in, const Config&, Sentence&) {
    const TensorType channels{{in[1][1]}, 1, in[1].dtype};
    return {channels, channels};
  }
};

/// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)), without the means where the statistics
/// are not those of the batch. Operands: x, statistics, dy, gamma, both sums. Not for users.
///
/// derivative  to x also through the statistics and the sums, to dy, and to gamma
struct BatchNormInputGrad : Operator<BatchNormInputGrad, "BatchNormGrad"> {
  using Config = BatchNormAttributes;
  using Row = BatchNormRow;
  static constexpr void derivative(Derivative& d);
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
    d.no_gradient(1);
    d.flows_to(0, d.call_with<BatchNormInputGrad>(c, x, statistics, dy, d.operand(2), to_gamma, to_beta));
  }
};

namespace detail {
/// Values of the derivative of a batch norm, in the dtype of its statistics, for second derivatives.
class BatchNormChannels {
 public:
  constexpr BatchNormChannels(Derivative& d, const BatchNormAttributes& c)
      : d_(d), config_(c), x_(d.type(0)), statistics_(d.type(1)) {}

  constexpr int wide(int node) const { return cast_to(statistics_.dtype, node); }
  constexpr int narrow(int node) const { return cast_to(x_.dtype, node); }
  /// A number per channel [C] beside x, and back.
  constexpr int column(int node) const { return d_.call_with<Reshape>(Reshape::to(column_type()), node); }
  constexpr int channel_sums(int node) const {
    const int sums = d_.call_with<SumTo>(SumTo::to(column_type()), node);
    return d_.call_with<Reshape>(Reshape::to({{x_[1]}, 1, statistics_.dtype}), sums);
  }
  constexpr int row(BatchNormRow::Row k) const {
    SliceWindow part = SliceWindow::all(statistics_, 1);
    detail::narrow(part, SliceWindow::axes - 2, BatchNormRow::rows, Part{k, k + 1});
    return column(d_.call_with<Slice>(part, d_.operand(1)));
  }
  constexpr int inverse() const {
    return d_.call<Rsqrt>(d_.call<Add>(row(BatchNormRow::variance), d_.constant(config_.epsilon, 1)));
  }
  constexpr int normalized() const {
    return d_.call<Mul>(d_.call<Sub>(wide(d_.operand(0)), row(BatchNormRow::mean)), inverse());
  }
  constexpr int mean(int node) const { return d_.call_with<ReduceMean>({((1 << x_.rank) - 1) & ~2, 1, 0}, node); }
  /// The gradient of x where that of xhat is `node`. As a matrix it is symmetric.
  constexpr int through(int node) const {
    const int one = d_.call_with<BroadcastTo>(SumTo::to({{x_[1]}, 1, statistics_.dtype}), d_.constant(1, 1)),
              given = narrow(node), sums = d_.call_with<BatchNormSums>(config_, d_.operand(0), d_.operand(1), given);
    return wide(d_.call_with<BatchNormInputGrad>(config_, d_.operand(0), d_.operand(1), given, one, sums,
                                                 d_.result_of(sums, 1)));
  }

 private:
  constexpr TensorType column_type() const {
    return {{x_[1], 1, 1}, x_.rank == 2 ? 1 : x_.rank - 1, statistics_.dtype};
  }
  constexpr int cast_to(Dtype dtype, int node) const {
    return d_.builder().nodes[std::size_t(node)].type.dtype == dtype ? node : d_.call_with<Cast>({dtype}, node);
  }

  Derivative& d_;
  const BatchNormAttributes config_;
  const TensorType x_, statistics_;
};
}  // namespace detail

constexpr void BatchNormSums::derivative(Derivative& d) {
  const Config c = d.config<BatchNormSums>();
  const detail::BatchNormChannels channels(d, c);
  const int of_gamma = d.gradient(0), of_beta = d.gradient(1), x = d.operand(0), statistics = d.operand(1),
            dy = d.operand(2);
  const int scaled = d.call<Mul>(channels.column(of_gamma), channels.normalized());
  d.flows_to(2, channels.narrow(d.call<Add>(scaled, channels.column(of_beta))));
  d.no_gradient(1);
  d.flows_to(0, d.call_with<BatchNormInputGrad>(c, x, statistics, dy, of_gamma, d.result(0), d.result(1)));
}
// As LayerNormInputGrad. Statistics that are not those of the batch do not depend on x.
constexpr void BatchNormInputGrad::derivative(Derivative& d) {
  const detail::BatchNormChannels channels(d, d.config<BatchNormInputGrad>());
  const int gamma = channels.column(d.operand(3)), xhat = channels.normalized(), dy = channels.wide(d.operand(2)),
            h = d.call<Mul>(dy, gamma), u = channels.wide(d.gradient()), back = channels.through(u);
  d.flows_to(2, channels.narrow(d.call<Mul>(back, gamma)));
  d.flows_to(3, channels.channel_sums(d.call<Mul>(back, dy)));
  d.no_gradient(1, 4, 5);
  const int of_h = channels.mean(d.call<Mul>(h, xhat)), of_u = channels.mean(d.call<Mul>(u, xhat)),
            of_both = channels.mean(d.call<Mul>(u, channels.wide(d.result())));
  const int through = channels.through(d.call<Add>(d.call<Mul>(of_h, u), d.call<Mul>(of_u, h)));
  const int sum = d.call<Add>(d.call<Mul>(of_both, xhat), through);
  const int zero = d.constant(0, 1), moving = d.call<Less>(channels.row(Row::unbiased_variance), zero);
  const int to_x = d.call<Select>(moving, zero, d.call<Neg>(d.call<Mul>(channels.inverse(), sum)));
  d.flows_to(0, channels.narrow(to_x));
}

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
