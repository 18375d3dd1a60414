// Freezing: the number by which a running graph knows that a cell is frozen.
#pragma once
#include <tenon/graph/ir/parameter.hpp>

namespace tenon::inline TENON_ABI {
namespace nn::detail {
struct FreezingValue {
  float value = 0;
};
}  // namespace nn::detail
namespace detail {
template <>
inline constexpr bool is_setting<nn::detail::FreezingValue> = true;
template <>
inline constexpr bool is_freezing<nn::detail::FreezingValue> = true;
}  // namespace detail

namespace nn {
/// A setting of a cell that is not 0 while the cell is frozen: by requires_grad(false), or by set_train(false) of a
/// part of a network, on the cell or one around it: the bits of detail::Freezer. A kernel reads it, so that a compiled
/// graph needs no second form.
using Freezing = Parameter<float, Shape<>, detail::FreezingValue{}, false>;
}  // namespace nn
}  // namespace tenon
