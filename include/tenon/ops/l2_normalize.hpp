// Division by the Euclidean norm along axes.
#pragma once
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/rsqrt.hpp>

namespace tenon::inline TENON_ABI::ops {

/// x / √(max(sum of x², epsilon)) along Axes: `l2_normalize<1>(x)`, `l2_normalize<1>(x, 1e-12f)`.
///
/// x           any shape; floating-point
/// epsilon     1e-4, MindSpore's default. PyTorch's normalize(x, eps) is l2_normalize with epsilon = eps²
/// result      shape of x
/// source      MindSpore's L2Normalize
template <int... Axes, Operand X>
constexpr auto l2_normalize(const X& x, float epsilon = 1e-4f,
                            std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Axes) > 0, "l2_normalize takes its axes as template arguments: l2_normalize<1>(x)");
  return mul(x, rsqrt(maximum(reduce_sum_square_keep<Axes...>(x, at), epsilon, at), at), at);
}

}  // namespace tenon::ops
