// Root mean square normalization as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/rms_norm.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of RMSNorm, with the default of MindSpore (PyTorch has 1.1920929e-7f, LLaMA 1e-6f or 1e-5f).
struct RMSNormConfig {
  float epsilon = 1e-6f;
};

/// Root mean square normalization over the last axes:  y = x / √(mean of x² + epsilon) · gamma
///
/// Normalized  a Shape, the extents of the last axes: `RMSNorm<Shape<128>>`
/// x           [..., Normalized]; floating-point
/// result      shape of x
/// parameters  gamma, One, of shape Normalized
/// source      Zhang and Sennrich 2019; PyTorch nn.RMSNorm, MindSpore's rms_norm
template <class Normalized, RMSNormConfig config = RMSNormConfig{}>
struct RMSNorm : Cell<RMSNorm<Normalized, config>> {
  static_assert(Normalized::rank > 0 && !Normalized::dims.batched() && Normalized::dims.count(1) > 0,
                "RMSNorm<Shape<...>> needs the static extents of the last axes, 1 or more");
  Parameter<float, Normalized, One{}> gamma;

  constexpr auto construct(const ops::Operand auto& x) const { return ops::rms_norm(x, gamma, config.epsilon); }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName rms_norm_names[]{{"gamma", "weight"}};
}
template <class Normalized, nn::RMSNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::RMSNorm<Normalized, config>>{detail::rms_norm_names};

}  // namespace tenon
