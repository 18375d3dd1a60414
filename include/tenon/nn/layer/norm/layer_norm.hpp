// Layer normalization as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/layer_norm.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a layer normalization, with the default of MindSpore 1.x (PyTorch has 1e-5).
struct LayerNormConfig {
  float epsilon = 1e-7f;
};

/// Layer normalization over the last axes:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// Normalized  a Shape, the extents of the last axes: `LayerNorm<Shape<128>>`
/// x           [..., Normalized] of float32
/// result      shape of x
/// parameters  gamma, One, and beta, Zero, of shape Normalized
/// source      MindSpore nn.LayerNorm
template <class Normalized, LayerNormConfig config = LayerNormConfig{}>
struct LayerNorm : Cell<LayerNorm<Normalized, config>> {
  static_assert(Normalized::rank > 0 && !Normalized::dims.batched() && Normalized::dims.count(1) > 0,
                "LayerNorm<Shape<...>> needs the static extents of the last axes, 1 or more");
  Parameter<float, Normalized, One{}> gamma;
  Parameter<float, Normalized, Zero{}> beta;

  constexpr auto construct(const ops::Operand auto& x) const {
    return ops::layer_norm<ops::LayerNormAttributes{config.epsilon}>(x, gamma, beta);
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName layer_norm_names[]{{"gamma", "weight"}, {"beta", "bias"}};
}
template <class Normalized, nn::LayerNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::LayerNorm<Normalized, config>>{
    detail::layer_norm_names};

}  // namespace tenon
