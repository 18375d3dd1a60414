// Weights of a loss: numbers in its type, so that a Model needs no third column.
#pragma once
#include <tenon/nn/loss/reduction.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::nn {

/// For a loss without weights. Weights are a table, as for ops::constant, of any floating-point type:
///
///     struct Rare {
///       using shape = Shape<3>;
///       static constexpr float values[]{1, 1, 10};
///     };
///     Model model{net, nn::CrossEntropyLoss<nn::Reduction::mean, nn::CrossEntropyConfig{}, Rare>{}, ...};
struct NoWeight {};
template <class Weight>
inline constexpr bool has_weight = !std::is_same_v<Weight, NoWeight>;

/// The weights in x's dtype.
template <class Weight>
constexpr auto weight_beside(const ops::Operand auto& x) {
  return ops::cast<ops::ElementOf<decltype(x)>>(ops::constant<Weight>(x));
}
/// x times the weights, whose shape broadcasts to that of x; x where there are none.
template <class Weight>
constexpr auto weighted(const ops::Operand auto& x) {
  if constexpr (has_weight<Weight>) return ops::mul(x, weight_beside<Weight>(x));
  else return x;
}

}  // namespace tenon::nn
