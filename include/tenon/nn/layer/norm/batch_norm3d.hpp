// Batch normalization of volumes as a layer.
#pragma once
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/ops/refused.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Batch normalization of volumes:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta, per channel
///
/// x           [n, channels, D, H, W] of float32 or a 16-bit float
/// result      shape of x
/// parameters, training, evaluation  as BatchNorm2d, which computes images of height D H
/// source      MindSpore nn.BatchNorm3d
template <int channels, BatchNormConfig config = BatchNormConfig{}>
struct BatchNorm3d : Cell<BatchNorm3d<channels, config>> {
  Parameter<float, Shape<channels>, One{}> gamma;
  Parameter<float, Shape<channels>, Zero{}> beta;
  Parameter<float, Shape<channels>, Zero{}, false> moving_mean;
  Parameter<float, Shape<channels>, One{}, false> moving_variance;
  Freezing freezing;

  constexpr auto construct(const ops::Operand auto& x) const {
    const auto at = std::source_location::current();
    return ops::where_fits<ops::InputRule<"BatchNorm3d", "[n,C,D,H,W]", 5, channels>>(at, x, [&](const auto& v) {
      constexpr TensorType t = std::remove_cvref_t<decltype(v)>::dims;
      constexpr TensorType image{{t[0], t[1], t[2] * t[3], t[4]}, 4, t.dtype};
      return apply<ops::Reshape, ops::Reshape::to(t)>(
          at, detail::batch_norm<4, channels, config>(apply<ops::Reshape, ops::Reshape::to(image)>(at, v), *this));
    });
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

template <int channels, nn::BatchNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::BatchNorm3d<channels, config>>{
    detail::batch_norm_names};

}  // namespace tenon
