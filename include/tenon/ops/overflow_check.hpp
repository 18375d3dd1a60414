// Looks for infinite numbers and NaN in a gradient.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/ir/guard.hpp>

namespace tenon::inline TENON_ABI::ops {
/// Sets a flag (operand 0, int32) if an element of a gradient (operand 1) is infinite or NaN; never resets it. Not for
/// users.
struct OverflowCheck : Operator<OverflowCheck, "OverflowCheck"> {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
}  // namespace tenon::ops
