// Clipping of tensors: clip_by_value, clip_by_norm, clip_by_global_norm. Gradients of a training: nn/optim/clip.hpp.
#pragma once
#include <tuple>

#include <tenon/ops/add.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/smallest_normal.hpp>
#include <tenon/ops/sqrt.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// The norm that belongs to a sum of squares. A root has no derivative at 0, where this one is 0, as PyTorch's norm.
constexpr auto norm_of_squares(const Operand auto& sum, std::source_location at) {
  return ops::sqrt(ops::maximum(sum, smallest_normal<decltype(sum)>(), at), at);
}
}  // namespace detail

/// Each element of x limited to [low, high]; low and high are numbers or tensors that broadcast. NaN stays NaN.
///
/// derivative  dy where x is inside or NaN, 0 outside, dy / 2 where x is low or high and dy / 4 where it is both, as of
///             maximum and minimum. PyTorch's clamp has 0 at limits that are numbers, and where x is NaN
/// source      MindSpore's clip_by_value, PyTorch's clamp
constexpr auto clip_by_value(const Operand auto& x, const OperandOrScalar auto& low, const OperandOrScalar auto& high,
                             std::source_location at = std::source_location::current()) {
  return maximum(minimum(x, high, at), low, at);
}

/// x, scaled down to the norm clip_norm if its norm √(Σ x²) is larger: x · clip_norm / max(norm, clip_norm). Where x is
/// all zeros, the gradient is dy. A NaN in x makes all of it NaN. Source: MindSpore nn.ClipByNorm (its ops.clip_by_norm
/// takes the norm of a whole list).
constexpr auto clip_by_norm(const Operand auto& x, const OperandOrScalar auto& clip_norm,
                            std::source_location at = std::source_location::current()) {
  const auto norm = detail::norm_of_squares(reduce_sum_square(x, at), at);
  return div(mul(x, clip_norm, at), maximum(norm, clip_norm, at), at);
}

/// Several tensors of one dtype, `clip_by_global_norm(std::tuple(a, b), 1.0f)`, scaled by one factor if the norm of all
/// of them together is larger than clip_norm. Result: a tuple. Source: MindSpore ops.clip_by_global_norm.
template <Operand First, Operand... More>
constexpr auto clip_by_global_norm(const std::tuple<First, More...>& x, const OperandOrScalar auto& clip_norm,
                                   std::source_location at = std::source_location::current()) {
  return std::apply(
      [&](const auto& first, const auto&... more) {
        auto sum = reduce_sum_square(first, at);
        ((sum = add(sum, reduce_sum_square(more, at), at)), ...);
        const auto most = maximum(detail::norm_of_squares(sum, at), clip_norm, at);
        const auto scaled = [&](const auto& one) { return div(mul(one, clip_norm, at), most, at); };
        return std::tuple(scaled(first), scaled(more)...);
      },
      x);
}

}  // namespace tenon::ops
