// Batch normalization as layers for rows and for images.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/freezing.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/batch_norm.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of a batch normalization, with MindSpore's defaults. What it calls momentum is 1 - momentum in PyTorch.
struct BatchNormConfig {
  float epsilon = 1e-5f;
  float momentum = 0.9f;  // moving = momentum moving + (1 - momentum) batch
};

namespace detail {

constexpr bool fits_batch_norm(const TensorType& x, int rank, int features) {
  return x.rank == rank && x[1] == features;
}

/// Whether the cell is inside nn::Frozen.
template <class X, class Norm>
constexpr bool is_frozen_in_type(const X& x, const Norm& norm) {
  if constexpr (tenon::detail::is_traced<X>) {
    const Node& gamma = x.builder->nodes[std::size_t(tenon::detail::lift(*x.builder, norm.gamma))];
    if (!is<ops::ParameterLeaf>(gamma)) return false;
    const Entry& entry = x.builder->entries[gamma.immediate];
    return !entry.trainable && !entry.outside;
  } else return !norm.gamma.ParameterHandle::trainable();
}

/// By the statistics of the batch, which also move the moving ones; by those, which then rest, if the cell is frozen.
template <ops::BatchNormAttributes attributes, float momentum, class X, class Norm>
constexpr auto normalized_by_batch(const X& x, const Norm& norm, const std::source_location& at) {
  using Row = ops::BatchNormRow;
  const auto statistics =
      apply<ops::BatchNormStatistics, attributes>(at, x, norm.moving_mean, norm.moving_variance, norm.freezing);
  apply<ops::UpdateMoving, ops::UpdateMoving::Config{momentum, Row::mean}>(at, norm.moving_mean, statistics);
  apply<ops::UpdateMoving, ops::UpdateMoving::Config{momentum, Row::unbiased_variance}>(at, norm.moving_variance,
                                                                                        statistics);
  return apply<ops::BatchNorm, attributes>(at, x, statistics, norm.gamma, norm.beta);
}

/// By the moving statistics: three element-wise operators, which a graph fuses into the convolution before them.
template <ops::BatchNormAttributes attributes, class Channels, class X, class Norm>
constexpr auto normalized_by_moving(const X& x, const Norm& norm, const std::source_location& at) {
  const auto scale = apply<ops::BatchNormScale, attributes>(at, value_in(x, norm.gamma), norm.moving_variance);
  using Mean = std::remove_cvref_t<decltype(norm.moving_mean)>;
  using Beta = std::remove_cvref_t<decltype(norm.beta)>;
  const auto centered = ops::sub(x, ParameterView<Mean, Channels>{norm.moving_mean}, at);
  return ops::add(ops::mul(centered, ops::reshape<Channels>(scale, at), at), ParameterView<Beta, Channels>{norm.beta},
                  at);
}

template <int rank, int features, BatchNormConfig config, class X, class Norm>
constexpr auto batch_norm(const X& x, const Norm& norm) {
  static_assert(features > 0, "a batch normalization needs a positive number of features");
  static_assert(config.epsilon > 0 && config.momentum >= 0 && config.momentum <= 1,
                "a batch normalization needs epsilon > 0 and a momentum within 0 and 1");
  constexpr ops::BatchNormAttributes attributes{config.epsilon, rank};
  using Channels = std::conditional_t<rank == 4, Shape<features, 1, 1>, Shape<features>>;
  const auto at = std::source_location::current();
  if constexpr (is_broken<X>) return x;
  else if constexpr (!fits_batch_norm(X::dims, rank, features))
    return apply<ops::BatchNorm, attributes>(at, x, apply<ops::BatchNormStatistics, attributes>(at, x), norm.gamma,
                                             norm.beta);
  else {
    if (is_training(x) && !is_frozen_in_type(x, norm))
      return normalized_by_batch<attributes, config.momentum>(x, norm, at);
    if constexpr (is_half_dtype(X::dims.dtype))  // in float32 and rounded once, as in training
      return ops::cast<typename X::type>(normalized_by_moving<attributes, Channels>(ops::cast<float>(x, at), norm, at),
                                         at);
    else return normalized_by_moving<attributes, Channels>(x, norm, at);
  }
}
}  // namespace detail

/// Batch normalization of rows:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta, per feature
///
/// x           [n, features] of float32 or a 16-bit float, whose statistics and parameters are float32
/// result      [n, features]
/// parameters  gamma [features], One;  beta [features], Zero;  moving_mean, moving_variance [features], not trained
/// training    uses the statistics of the batch, and updates the moving statistics with a part of them (unbiased
///             variance, n - 1)
/// evaluation  moving statistics
/// frozen      inside nn::Frozen, by requires_grad(false), or by set_train(false) of a part of the network: uses the
///             moving statistics also in training, and does not change them, as in Keras and after PyTorch's eval(). A
///             batch with one value per channel is an error even then, except inside nn::Frozen
/// source      MindSpore nn.BatchNorm1d
template <int features, BatchNormConfig config = BatchNormConfig{}>
struct BatchNorm1d : Cell<BatchNorm1d<features, config>> {
  Parameter<float, Shape<features>, One{}> gamma;
  Parameter<float, Shape<features>, Zero{}> beta;
  Parameter<float, Shape<features>, Zero{}, false> moving_mean;
  Parameter<float, Shape<features>, One{}, false> moving_variance;
  Freezing freezing;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::batch_norm<2, features, config>(x, *this);
  }
};

/// Batch normalization of images:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta, per channel
///
/// x           [n, channels, H, W] of float32 or a 16-bit float, whose statistics and parameters are float32
/// result      [n, channels, H, W]
/// parameters, training, evaluation  as BatchNorm1d
/// source      MindSpore nn.BatchNorm2d
template <int channels, BatchNormConfig config = BatchNormConfig{}>
struct BatchNorm2d : Cell<BatchNorm2d<channels, config>> {
  Parameter<float, Shape<channels>, One{}> gamma;
  Parameter<float, Shape<channels>, Zero{}> beta;
  Parameter<float, Shape<channels>, Zero{}, false> moving_mean;
  Parameter<float, Shape<channels>, One{}, false> moving_variance;
  Freezing freezing;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::batch_norm<4, channels, config>(x, *this);
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName batch_norm_names[]{
    {"gamma", "weight"}, {"beta", "bias"}, {"moving_mean", "running_mean"}, {"moving_variance", "running_var"}};
}
template <int features, nn::BatchNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::BatchNorm1d<features, config>>{
    detail::batch_norm_names};
template <int channels, nn::BatchNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::BatchNorm2d<channels, config>>{
    detail::batch_norm_names};

}  // namespace tenon
