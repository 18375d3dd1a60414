// Normalization of each sample by the statistics of groups of its channels.
#pragma once
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/full_precision.hpp>
#include <tenon/ops/group_norm_grad.hpp>
#include <tenon/ops/refused.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// "GroupNorm of 2 groups and 4 channels needs an input [n,4,...], got [n,3,8]"
template <int groups, int channels>
struct GroupRule {
  static constexpr FixedString name{"GroupNorm"};
  static constexpr bool holds(const TensorType& x) {
    return x.rank >= 2 && x[1] == channels && groups > 0 && channels % groups == 0 && is_floating(x.dtype);
  }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "a normalization of " << channels << " channels in " << groups
          << " groups needs a floating-point input [n," << channels << ",...] and groups that divide the channels, got "
          << tenon::name(x.dtype) << " " << x;
  }
};
/// [n, C, ...] as [n groups, elements of a group].
constexpr Reshape::Config group_rows(const TensorType& x, int groups) {
  const long size = x.span(1, x.rank) / groups;
  return Reshape::to(TensorType{{x[0] * groups, int(size)}, 2, x.dtype});
}
}  // namespace detail

/// Each group of channels of each sample with mean 0 and variance 1, without scale and shift:
/// `normalize_groups<GroupNormConfig{.groups = 4}>(x)`.
///
/// x           [n, C, ...]; floating-point
/// result      (x - mean) / sqrt(variance + epsilon) of each of the `groups` groups of C / groups channels
/// order       as LayerNorm of rows of one group each
/// source      Wu and He, arXiv 1803.08494
template <GroupNormConfig config, Operand X>
constexpr auto normalize_groups(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    using Parameter = std::conditional_t<X::dims.dtype == Dtype::float64, double, float>;
    constexpr int size = int(X::dims.span(1, X::dims.rank) / config.groups);
    const auto numbers = arange<size, Parameter>(x, at);
    const auto rows = apply<Reshape, detail::group_rows(X::dims, config.groups)>(at, x);
    const auto normal = apply<LayerNorm, LayerNormAttributes{config.epsilon}>(at, rows, ones_like(numbers, at),
                                                                              zeros_like(numbers, at));
    return apply<Reshape, Reshape::to(X::dims)>(at, normal);
  }
}

/// Group normalization: normalize_groups(x) · gamma + beta, with a number per channel each.
///
/// x           [n, C, ...]; floating-point
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// derivative  to x, gamma, and beta
/// source      MindSpore's and PyTorch's GroupNorm; groups = C is InstanceNorm, groups = 1 normalizes whole samples
template <GroupNormConfig config, Operand X, Operand G, Operand B>
constexpr auto group_norm(const X& x, const G& gamma, const B& beta,
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::GroupRule<config.groups, std::remove_cvref_t<G>::dims[0]>;
  return where_fits<Rule>(at, x, [&](const auto& v) {
    return detail::in_full_precision(v, at, [&](const auto& f) {
      return apply<GroupNorm, config>(at, f, gamma, beta, apply<GroupNormMoments, config>(at, f));
    });
  });
}

}  // namespace tenon::ops
