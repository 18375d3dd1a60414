// Group normalization and instance normalization as layers.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/group_norm.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Settings of GroupNorm and InstanceNorm, with MindSpore's defaults (PyTorch's InstanceNorm has affine = false).
struct GroupNormConfig {
  float epsilon = 1e-5f;
  bool affine = true;  // whether there are gamma and beta
};

namespace detail {
template <class Rule, int groups, GroupNormConfig config, class X, class Norm>
constexpr auto group_norm(const X& x, const Norm& norm) {
  const auto at = std::source_location::current();
  constexpr ops::GroupNormConfig settings{groups, config.epsilon};
  return ops::where_fits<Rule>(at, x, [&](const auto& v) {
    if constexpr (config.affine) return ops::group_norm<settings>(v, norm.gamma, norm.beta, at);
    else return ops::normalize_groups<settings>(v, at);
  });
}
}  // namespace detail

/// Group normalization: each group of Channels / Groups channels of a sample gets mean 0 and variance 1, then each
/// channel its factor gamma and summand beta. `GroupNorm<8, 64>`.
///
/// x           [n, Channels, ...]; floating-point
/// result      shape of x
/// parameters  gamma [Channels], One; beta [Channels], Zero; absent with affine = false
/// source      MindSpore and PyTorch nn.GroupNorm
template <int Groups, int Channels, GroupNormConfig config = GroupNormConfig{}>
struct GroupNorm : Cell<GroupNorm<Groups, Channels, config>> {
  static_assert(Groups > 0 && Channels > 0 && Channels % (Groups > 0 ? Groups : 1) == 0,
                "GroupNorm<Groups, Channels> needs Groups that divide Channels");
  OptionalParameter<config.affine, float, Shape<Channels>, One{}> gamma;
  OptionalParameter<config.affine, float, Shape<Channels>, Zero{}> beta;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::group_norm<ops::detail::GroupRule<Groups, Channels>, Groups, config>(x, *this);
  }
};

/// Instance normalization of sequences: each channel of a sample gets mean 0 and variance 1.
///
/// x           [n, Channels, L]; floating-point
/// parameters  as GroupNorm
/// source      MindSpore and PyTorch nn.InstanceNorm1d; training and evaluation are equal, there are no moving
///             statistics
template <int Channels, GroupNormConfig config = GroupNormConfig{}>
struct InstanceNorm1d : Cell<InstanceNorm1d<Channels, config>> {
  static_assert(Channels > 0, "InstanceNorm1d<Channels> needs a positive number of channels");
  OptionalParameter<config.affine, float, Shape<Channels>, One{}> gamma;
  OptionalParameter<config.affine, float, Shape<Channels>, Zero{}> beta;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::group_norm<ops::InputRule<"InstanceNorm1d", "[n,C,L]", 3, Channels>, Channels, config>(x, *this);
  }
};
/// Instance normalization of images [n, Channels, H, W], as InstanceNorm1d.
template <int Channels, GroupNormConfig config = GroupNormConfig{}>
struct InstanceNorm2d : Cell<InstanceNorm2d<Channels, config>> {
  static_assert(Channels > 0, "InstanceNorm2d<Channels> needs a positive number of channels");
  OptionalParameter<config.affine, float, Shape<Channels>, One{}> gamma;
  OptionalParameter<config.affine, float, Shape<Channels>, Zero{}> beta;

  constexpr auto construct(const ops::Operand auto& x) const {
    return detail::group_norm<ops::InputRule<"InstanceNorm2d", "[n,C,H,W]", 4, Channels>, Channels, config>(x, *this);
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName group_norm_names[]{{"gamma", "weight"}, {"beta", "bias"}};
}
template <int Groups, int Channels, nn::GroupNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::GroupNorm<Groups, Channels, config>>{
    detail::group_norm_names};
template <int Channels, nn::GroupNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::InstanceNorm1d<Channels, config>>{
    detail::group_norm_names};
template <int Channels, nn::GroupNormConfig config>
inline constexpr std::span<const PytorchName> pytorch_names<nn::InstanceNorm2d<Channels, config>>{
    detail::group_norm_names};

}  // namespace tenon
