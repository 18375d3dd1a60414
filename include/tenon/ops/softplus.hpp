// Softplus.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/sigmoid.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Softplus:  y = ln(1 + eˣ)
///
/// x           any shape; floating-point
/// derivative  sigmoid(x) dy
/// accuracy    computed as max(x, 0) + ln(1 + e^-|x|), which neither overflows nor loses accuracy
/// source      MindSpore's Softplus
struct Softplus : Elementwise<Softplus, "Softplus"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return (x > V(0) ? x : V(0)) + math::log1p(math::exp(x > V(0) ? -x : x));
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.call<Sigmoid>(d.operand(0)), d.gradient()));
  }
};
TENON_EXACT_END

/// ln(1 + eˣ)
constexpr auto softplus(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Softplus>(at, x);
}

}  // namespace tenon::ops
