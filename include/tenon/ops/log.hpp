// Natural logarithm.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/div.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Natural logarithm:  y = ln x; NaN below zero, minus infinity at zero
///
/// x           any shape; floating-point
/// derivative  dy / x
/// accuracy    that of math::log (core/math/elementary.hpp)
/// source      MindSpore's Log
struct Log : Elementwise<Log, "Log"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE static V eval(V x) {
    return math::log(x);
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<Div>(d.gradient(), d.operand(0))); }
};
TENON_EXACT_END

/// ln x
constexpr auto log(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Log>(at, x);
}

}  // namespace tenon::ops
