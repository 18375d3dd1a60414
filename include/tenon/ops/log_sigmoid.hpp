// Logarithm of the sigmoid.
#pragma once
#include <tenon/ops/neg.hpp>
#include <tenon/ops/softplus.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Logarithm of the sigmoid:  y = ln(1 / (1 + e⁻ˣ)) = -softplus(-x)
///
/// x           any shape; floating-point
/// derivative  sigmoid(-x) dy
/// source      MindSpore's LogSigmoid
struct LogSigmoid : Elementwise<LogSigmoid, "LogSigmoid"> {
  static constexpr bool floating_only = true;
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE static V eval(V x) {
    return V(0) - Softplus::eval(-x);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<Mul>(d.call<Sigmoid>(d.call<Neg>(d.operand(0))), d.gradient()));
  }
};
TENON_EXACT_END

/// ln(sigmoid(x))
constexpr auto logsigmoid(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<LogSigmoid>(at, x);
}

}  // namespace tenon::ops
