// The operator that the fuse pass makes from a chain of element-wise operators.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// A chain of element-wise operators in one pass over memory; its program is in the node. Only graphs contain it.
struct Fused : Operator<Fused, "Fused"> {
  static constexpr bool elementwise = true, per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
TENON_EXACT_END
}  // namespace tenon::ops
