// Updates that a step may skip: they read a flag of the training state through a guard.
#pragma once
#include <tenon/graph/ir/leaf.hpp>

namespace tenon::inline TENON_ABI {

/// Where in the training state a scaled loss finds its factor (float); where gradients that overflow say so (int32, 0:
/// they do not), or that a step has no update (2); where losses per sample on a second target say that one is not
/// finite (int32); where the squares of all gradients are added up (double), and those of gradients of slices (double);
/// where sums of gradients find whether they begin (float; 0: they do not).
inline constexpr long loss_scale_state = 16, overflow_state = 24, losses_state = 28, gradient_squares_state = 40,
                      first_gradient_state = 48, slice_squares_state = 56;

/// Bytes of outputs that a second target sends home in each step without being asked.
inline constexpr long sent_bytes = 64;

namespace ops {
/// The numbers of an update (operand 0), known when the flag (operand 1) is. An effect that reads them is left out if
/// the flag is set.
struct Guard : Operator<Guard, "Guard"> {
  static constexpr bool view = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
}  // namespace ops

/// True for an effect that waits for the flag.
template <int N>
constexpr bool guarded(const Graph<N>& graph, const Node& node) {
  if (!node.op->effect) return false;
  for (int k = 0; k < node.operands; ++k)
    if (is<ops::Guard>(graph[node.operand[k]])) return true;
  return false;
}
/// True for a leaf that effects change which only look at their other operand: the flags of gradients and losses, and
/// the sums of the gradients' squares.
constexpr bool only_looks(const Node& node) {
  return is<ops::StateLeaf>(node) &&
         (node.immediate == std::uint64_t(overflow_state) || node.immediate == std::uint64_t(losses_state) ||
          node.immediate == std::uint64_t(gradient_squares_state) ||
          node.immediate == std::uint64_t(slice_squares_state));
}

}  // namespace tenon
