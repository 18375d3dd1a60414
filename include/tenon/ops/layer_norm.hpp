// Layer normalization: normalizes every sample by the statistics of its last axes.
#pragma once
#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

struct LayerNormAttributes {
  float epsilon = 1e-7f;
};

struct LayerNormMoments;
struct LayerNormInputGrad;
struct LayerNormGammaGrad;

/// Layer normalization over the last axes:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [..., normalized extents]; floating-point
/// gamma, beta the normalized extents; float32, or float64 for a float64 x
/// result      shape and dtype of x
/// derivative  to x, gamma, and beta
/// order       16 lanes along a row; rows in chains of 32 for gamma and beta; long ones as in
///             backend/cpu/reduce/sum_tree.hpp
/// source      Ba, Kiros, and Hinton, arXiv 1607.06450; MindSpore's LayerNorm
struct LayerNorm : Operator<LayerNorm, "LayerNorm"> {
  static constexpr bool float_parameters = true;
  using Config = LayerNormAttributes;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1];
    const Dtype wanted = x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    bool fits = x.rank > gamma.rank || (x.rank == gamma.rank && !x.batched());
    for (int axis = 0; fits && axis < gamma.rank; ++axis)
      fits = x.extent[x.rank - gamma.rank + axis] == gamma.extent[axis];
    if (!is_floating(x.dtype))
      error << "LayerNorm needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (!fits || !gamma.rank)
      error << "LayerNorm got an input " << x << ", its gamma " << gamma << " normalizes the last axes, which must be "
            << gamma;
    else if (!in[2].same_shape(gamma))
      error << "LayerNorm got gamma " << gamma << " and beta " << in[2] << ", which must have one shape";
    else if (gamma.dtype != wanted || in[2].dtype != wanted)
      error << "LayerNorm of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(wanted) << ", got "
            << tenon::name(gamma.dtype);
    return x;
  }
  static constexpr void derivative(Derivative& d);
};

/// Mean and 1 / sqrt(variance + epsilon) of each row, [..., 2]. Operands: x, gamma (for its shape). Not for users.
struct LayerNormMoments : Operator<LayerNormMoments, "LayerNormMoments"> {
  using Config = LayerNormAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType t = in[0].with(in[1].dtype);
    t.rank = in[0].rank - in[1].rank;
    for (int axis = t.rank; axis < max_rank; ++axis) t.extent[axis] = 0;
    t.extent[t.rank++] = 2;
    return t;
  }
};

/// dx = inverse (h - mean(h) - xhat mean(h xhat)) with h = dy gamma. Operands: x, gamma, moments, dy. Not for users.
///
/// derivative  to x also through the moments, to gamma, and to dy
struct LayerNormInputGrad : Operator<LayerNormInputGrad, "LayerNormGrad"> {
  static constexpr void derivative(Derivative& d);
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};

/// dgamma = sum over rows of dy xhat, or dbeta = sum over rows of dy. Operands: x, gamma, moments, dy. Not for users.
///
/// derivative  to x also through the moments, and to dy
struct LayerNormGammaGrad : Operator<LayerNormGammaGrad, "LayerNormGammaGrad"> {
  struct Config {
    int beta = 0;
  };
  static constexpr void derivative(Derivative& d);
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
};

constexpr void LayerNorm::derivative(Derivative& d) {
  const int x = d.operand(0), gamma = d.operand(1);
  const int moments = d.call_with<LayerNormMoments>(d.config<LayerNorm>(), x, gamma);
  d.flows_to(0, d.call<LayerNormInputGrad>(x, gamma, moments, d.gradient()));
  d.flows_to(1, d.call_with<LayerNormGammaGrad>({0}, x, gamma, moments, d.gradient()));
  d.flows_to(2, d.call_with<LayerNormGammaGrad>({1}, x, gamma, moments, d.gradient()));
}

namespace detail {
/// Values of the derivative of a layer norm, in the dtype of its moments, for second derivatives.
class LayerNormRows {
 public:
  constexpr explicit LayerNormRows(Derivative& d) : d_(d), x_(d.type(0)), gamma_(d.type(1)) {}

  constexpr int wide(int node) const { return cast_to(gamma_.dtype, node); }
  constexpr int narrow(int node) const { return cast_to(x_.dtype, node); }
  constexpr int inverse() const { return moment(1); }
  constexpr int normalized() const { return d_.call<Mul>(d_.call<Sub>(wide(d_.operand(0)), moment(0)), inverse()); }
  constexpr int mean(int node) const {
    ReduceAxes axes{0, 1, 0};
    for (int axis = x_.rank - gamma_.rank; axis < x_.rank; ++axis) axes.mask |= 1 << axis;
    return d_.call_with<ReduceMean>(axes, node);
  }
  /// The gradient of x where that of xhat is `node`. As a matrix it is symmetric.
  constexpr int through(int node) const {
    const int one = d_.call_with<BroadcastTo>(SumTo::to(gamma_), d_.constant(1, 1));
    return wide(d_.call<LayerNormInputGrad>(d_.operand(0), one, d_.operand(2), narrow(node)));
  }

 private:
  constexpr int cast_to(Dtype dtype, int node) const {
    return d_.builder().nodes[std::size_t(node)].type.dtype == dtype ? node : d_.call_with<Cast>({dtype}, node);
  }
  constexpr int moment(int k) const {
    const TensorType moments = d_.type(2);
    SliceWindow part = SliceWindow::all(moments, moments.rank - 1);
    detail::narrow(part, SliceWindow::axes - 1, 2, Part{k, k + 1});
    TensorType column = moments;
    column.rank = x_.rank;
    for (int axis = moments.rank - 1; axis < x_.rank; ++axis) column.extent[axis] = 1;
    return d_.call_with<Reshape>(Reshape::to(column), d_.call_with<Slice>(part, d_.operand(2)));
  }

  Derivative& d_;
  const TensorType x_, gamma_;
};
}  // namespace detail

// With r = J h, where h = dy gamma, J = inverse (1 - mean - xhat mean(xhat ·)), and u the gradient of r:
//   du/dx = -inverse (mean(u r) xhat + J (mean(h xhat) u + mean(u xhat) h))
constexpr void LayerNormInputGrad::derivative(Derivative& d) {
  const detail::LayerNormRows rows(d);
  const int gamma = d.operand(1), xhat = rows.normalized(), dy = rows.wide(d.operand(3)), h = d.call<Mul>(dy, gamma),
            u = rows.wide(d.gradient()), back = rows.through(u);
  d.flows_to(1, d.call<Mul>(back, dy));
  d.flows_to(3, rows.narrow(d.call<Mul>(back, gamma)));
  d.no_gradient(2);
  const int of_h = rows.mean(d.call<Mul>(h, xhat)), of_u = rows.mean(d.call<Mul>(u, xhat)),
            of_both = rows.mean(d.call<Mul>(u, rows.wide(d.result())));
  const int through = rows.through(d.call<Add>(d.call<Mul>(of_h, u), d.call<Mul>(of_u, h)));
  const int sum = d.call<Add>(d.call<Mul>(of_both, xhat), through);
  d.flows_to(0, rows.narrow(d.call<Neg>(d.call<Mul>(rows.inverse(), sum))));
}
constexpr void LayerNormGammaGrad::derivative(Derivative& d) {
  const detail::LayerNormRows rows(d);
  if (d.config<LayerNormGammaGrad>().beta) {
    const TensorType all = d.type(0).with(d.type(1).dtype);
    d.flows_to(3, rows.narrow(d.call_with<BroadcastTo>(SumTo::to(all), d.gradient())));
    d.no_gradient(0, 1, 2);
  } else {
    d.flows_to(3, rows.narrow(d.call<Mul>(d.gradient(), rows.normalized())));
    d.no_gradient(1, 2);
    d.flows_to(0, d.call<LayerNormInputGrad>(d.operand(0), d.gradient(), d.operand(2), d.operand(3)));
  }
}

/// Normalizes the last axes of x, those of gamma: `layer_norm(x, gamma, beta)`.
template <LayerNormAttributes config = LayerNormAttributes{}>
constexpr auto layer_norm(const Operand auto& x, const Operand auto& gamma, const Operand auto& beta,
                          std::source_location at = std::source_location::current()) {
  return apply<LayerNorm, config>(at, x, gamma, beta);
}

}  // namespace tenon::ops
