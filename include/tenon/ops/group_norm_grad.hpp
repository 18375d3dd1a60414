// The operators of group normalization: moments of each group, elements, and the gradients.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/layer_norm.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

struct GroupNormConfig {
  int groups = 1;
  float epsilon = 1e-5f;
};

/// Mean and 1 / sqrt(variance + epsilon) of each group of channels, [n, groups, 2]. Operand: x [n, C, ...]. Not for
/// users.
///
/// derivative  none: what x contributes through them is part of GroupNorm's derivative
/// order       as LayerNorm of rows of one group each
struct GroupNormMoments : Operator<GroupNormMoments, "GroupNormMoments"> {
  using Config = GroupNormConfig;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[0][0], c.groups, 2}, 3, in[0].dtype};
  }
};

/// Sums over each channel of each sample, [n, 2, C]: of dy, and of dy xhat. Operands: x, moments, dy. Not for users.
///
/// derivative  to x also through the moments, and to dy
/// order       16 lanes along a channel, as LayerNorm
struct GroupNormSums : Operator<GroupNormSums, "GroupNormSums"> {
  using Config = GroupNormConfig;
  static constexpr void derivative(Derivative& d);
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return {{in[0][0], 2, in[0][1]}, 3, in[0].dtype};
  }
};

/// dx = inverse (h - mean(h) - xhat mean(h xhat)) with h = dy gamma. Operands: x, gamma, moments, the sums of h and of
/// h xhat over each group [n, 2, groups], dy. Not for users.
///
/// derivative  to x also through the moments and the sums, to gamma, and to dy
struct GroupNormInputGrad : Operator<GroupNormInputGrad, "GroupNormGrad"> {
  using Config = GroupNormConfig;
  static constexpr void derivative(Derivative& d);
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// y = (x - mean) inverse gamma + beta
///
/// x           [n, C, ...]; moments: GroupNormMoments of x
/// gamma, beta [C]; the dtype of x
/// result      shape and dtype of x
/// derivative  to x through itself and its moments, to gamma and beta
/// source      Wu and He, arXiv 1803.08494; MindSpore's and PyTorch's GroupNorm
struct GroupNorm : Operator<GroupNorm, "GroupNorm"> {
  using Config = GroupNormConfig;
  static constexpr bool float_parameters = true;
  static constexpr int operands_before_epilogue = 4;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1], &beta = in[2];
    if (gamma.rank != 1 || !beta.same_shape(gamma))
      error << "GroupNorm of an input " << x << " got gamma " << gamma << " and beta " << beta
            << ", which must have one number per channel";
    else if (gamma.dtype != x.dtype || beta.dtype != x.dtype)
      error << "GroupNorm of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(x.dtype) << ", got "
            << tenon::name(gamma.dtype != x.dtype ? gamma.dtype : beta.dtype);
    return x;
  }
  static constexpr void derivative(Derivative& d);
};

namespace detail {
/// Values of the derivatives of a group norm. Rows are [n, groups, elements of a group].
class GroupNormRows {
 public:
  constexpr GroupNormRows(Derivative& d, int groups, int moments)
      : d_(d), x_(d.type(0)), groups_(groups), size_(int(x_.span(1, x_.rank) / groups)), moments_(moments) {}

  constexpr int rows(int node) const { return reshape({{x_[0], groups_, size_}, 3, x_.dtype}, node); }
  constexpr int elements(int node) const { return reshape(x_, node); }
  /// A number per channel [C] beside x, and back.
  constexpr int column(int node) const { return reshape(beside_x(1), node); }
  constexpr int channel_sums(int node) const {
    return reshape({{x_[1]}, 1, x_.dtype}, d_.call_with<SumTo>(SumTo::to(beside_x(1)), node));
  }
  /// Numbers per channel and sample [n, 1, C] beside x.
  constexpr int columns(int node) const { return reshape(beside_x(x_[0]), node); }
  /// Row k of [..., 2, C].
  constexpr int part(const TensorType& t, int k, int node) const {
    SliceWindow window = SliceWindow::all(t, t.rank - 1);
    detail::narrow(window, SliceWindow::axes - 2, 2, Part{k, k + 1});
    return d_.call_with<Slice>(window, node);
  }
  constexpr int inverse() const { return moment(1); }
  constexpr int normalized() const { return d_.call<Mul>(d_.call<Sub>(rows(d_.operand(0)), moment(0)), inverse()); }
  constexpr int mean(int node) const { return d_.call_with<ReduceMean>({1 << 2, 1, 0}, node); }
  /// The gradient of the rows of x where that of xhat is `node`. As a matrix it is symmetric.
  constexpr int through(int node) const {
    const int one = d_.call_with<BroadcastTo>(SumTo::to({{size_}, 1, x_.dtype}), d_.constant(1, 1));
    return d_.call<LayerNormInputGrad>(rows(d_.operand(0)), one, d_.operand(moments_), node);
  }

 private:
  constexpr int reshape(const TensorType& t, int node) const { return d_.call_with<Reshape>(Reshape::to(t), node); }
  // x with extents of 1 after its channels; without samples if `samples` is 1.
  constexpr TensorType beside_x(int samples) const {
    TensorType t{{samples, x_[1]}, x_.rank, x_.dtype};
    for (int axis = 2; axis < x_.rank; ++axis) t.extent[axis] = 1;
    return t;
  }
  constexpr int moment(int k) const {
    SliceWindow window = SliceWindow::all(d_.type(moments_), 2);
    detail::narrow(window, SliceWindow::axes - 1, 2, Part{k, k + 1});
    return d_.call_with<Slice>(window, d_.operand(moments_));
  }

  Derivative& d_;
  const TensorType x_;
  const int groups_, size_, moments_;
};
}  // namespace detail

constexpr void GroupNorm::derivative(Derivative& d) {
  const Config c = d.config<GroupNorm>();
  const TensorType x = d.type(0);
  const int channels = x[1], moments = d.operand(3);
  const detail::GroupNormRows rows(d, c.groups, 3);
  const int sums = d.call_with<GroupNormSums>(c, d.operand(0), moments, d.gradient());
  const int totals = d.call_with<ReduceSum>({1, 0, 0}, sums);
  const TensorType pair{{2, channels}, 2, x.dtype}, row{{channels}, 1, x.dtype};
  d.flows_to(1, d.call_with<Reshape>(Reshape::to(row), rows.part(pair, 1, totals)));
  d.flows_to(2, d.call_with<Reshape>(Reshape::to(row), rows.part(pair, 0, totals)));
  d.no_gradient(3);
  const TensorType grouped{{x[0], 2, c.groups, channels / c.groups}, 4, x.dtype};
  const int weighted = d.call_with<Reshape>(Reshape::to(grouped), d.call<Mul>(sums, d.operand(1)));
  const int of_groups = d.call_with<ReduceSum>({1 << 3, 0, 0}, weighted);
  d.flows_to(0, d.call_with<GroupNormInputGrad>(c, d.operand(0), d.operand(1), moments, of_groups, d.gradient()));
}
constexpr void GroupNormSums::derivative(Derivative& d) {
  const detail::GroupNormRows rows(d, d.config<GroupNormSums>().groups, 1);
  const TensorType x = d.type(0), pairs{{x[0], 2, x[1]}, 3, x.dtype};
  const int of_dy = rows.columns(rows.part(pairs, 0, d.gradient())),
            of_both = rows.columns(rows.part(pairs, 1, d.gradient()));
  d.flows_to(2, d.call<Add>(of_dy, d.call<Mul>(of_both, rows.elements(rows.normalized()))));
  d.no_gradient(1);
  d.flows_to(0, rows.elements(rows.through(rows.rows(d.call<Mul>(d.operand(2), of_both)))));
}
// As LayerNormInputGrad.
constexpr void GroupNormInputGrad::derivative(Derivative& d) {
  const detail::GroupNormRows rows(d, d.config<GroupNormInputGrad>().groups, 2);
  const int gamma = rows.column(d.operand(1)), dy = d.operand(4), xhat = rows.normalized(),
            h = rows.rows(d.call<Mul>(dy, gamma)), u = rows.rows(d.gradient()), back = rows.elements(rows.through(u));
  d.flows_to(1, rows.channel_sums(d.call<Mul>(back, dy)));
  d.flows_to(4, d.call<Mul>(back, gamma));
  d.no_gradient(2, 3);
  const int of_h = rows.mean(d.call<Mul>(h, xhat)), of_u = rows.mean(d.call<Mul>(u, xhat)),
            of_both = rows.mean(d.call<Mul>(u, rows.rows(d.result())));
  const int through = rows.through(d.call<Add>(d.call<Mul>(of_h, u), d.call<Mul>(of_u, h)));
  const int sum = d.call<Add>(d.call<Mul>(of_both, xhat), through);
  d.flows_to(0, rows.elements(d.call<Neg>(d.call<Mul>(rows.inverse(), sum))));
}

}  // namespace tenon::ops
