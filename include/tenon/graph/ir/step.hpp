// Fused element-wise steps as data: a kernel's program.
#pragma once
#include <tenon/graph/ir/node.hpp>

namespace tenon::inline TENON_ABI {

inline constexpr int max_steps = 24;  // element-wise steps in one fused kernel

/// One step: the operator, and for each of its arguments where it comes from. Sources below `step_result` are operands
/// of the fused node (in an epilogue: 0 is the operator's own result, then its further operands), others results of
/// steps.
inline constexpr int step_result = 32, no_source = 127, max_sources = 4;
struct Step {
  int op = 0, source[max_sources]{no_source, no_source, no_source, no_source};
  constexpr int packed_sources() const { return source[0] | source[1] << 8 | source[2] << 16 | source[3] << 24; }
  static constexpr Step unpack(int op, int sources) {
    return {op, {sources & 255, sources >> 8 & 255, sources >> 16 & 255, sources >> 24}};
  }
};

/// True if the step computes Op.
template <class Op>
constexpr bool is(const Step& step) {
  return step.op == operator_id<Op>;
}

}  // namespace tenon
