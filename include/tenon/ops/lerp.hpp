// Sums with a product or a quotient: lerp, addcmul, addcdiv.
#pragma once
#include <tenon/ops/abs.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// From a to b:  a + weight (b - a), and exactly b for the weight 1. The weight is a number or a tensor.
///
/// derivative  of the operators it consists of
/// source      MindSpore's and PyTorch's lerp
template <OperandOrScalar W>
constexpr auto lerp(const Operand auto& a, const Operand auto& b, const W& weight,
                    std::source_location at = std::source_location::current()) {
  const auto way = sub(b, a, at);
  if constexpr (Scalar<W>)
    return weight < 0.5 && weight > -0.5 ? add(a, mul(way, weight, at), at) : sub(b, mul(way, 1 - weight, at), at);
  else
    return select(less(abs(weight, at), 0.5f, at), add(a, mul(way, weight, at), at),
                  sub(b, mul(way, sub(1, weight, at), at), at), at);
}
/// x + value a b. MindSpore's and PyTorch's addcmul.
constexpr auto addcmul(const Operand auto& x, const Operand auto& a, const Operand auto& b, float value = 1,
                       std::source_location at = std::source_location::current()) {
  return add(x, mul(mul(a, b, at), value, at), at);
}
/// x + value a / b. MindSpore's and PyTorch's addcdiv.
constexpr auto addcdiv(const Operand auto& x, const Operand auto& a, const Operand auto& b, float value = 1,
                       std::source_location at = std::source_location::current()) {
  return add(x, mul(div(a, b, at), value, at), at);
}

}  // namespace tenon::ops
