// Layer normalization: normalizes every sample by the statistics of its last axes.
#pragma once
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/sum_to.hpp>

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
struct LayerNormInputGrad : Operator<LayerNormInputGrad, "LayerNormGrad"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};

/// dgamma = sum over rows of dy xhat, or dbeta = sum over rows of dy. Operands: x, gamma, moments, dy. Not for users.
struct LayerNormGammaGrad : Operator<LayerNormGammaGrad, "LayerNormGammaGrad"> {
  struct Config {
    int beta = 0;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
};

constexpr void LayerNorm::derivative(Derivative& d) {
  const int x = d.operand(0), gamma = d.operand(1);
  const int moments = d.call_with<LayerNormMoments>(d.config<LayerNorm>(), x, gamma);
  d.flows_to(0, d.call<LayerNormInputGrad>(x, gamma, moments, d.gradient()));
  d.flows_to(1, d.call_with<LayerNormGammaGrad>({0}, x, gamma, moments, d.gradient()));
  d.flows_to(2, d.call_with<LayerNormGammaGrad>({1}, x, gamma, moments, d.gradient()));
}

/// Normalizes the last axes of x, those of gamma: `layer_norm(x, gamma, beta)`.
template <LayerNormAttributes config = LayerNormAttributes{}>
constexpr auto layer_norm(const Operand auto& x, const Operand auto& gamma, const Operand auto& beta,
                          std::source_location at = std::source_location::current()) {
  return apply<LayerNorm, config>(at, x, gamma, beta);
}

}  // namespace tenon::ops
