// Which instructions of a compiled graph run: not those that only frozen parameters would need.
#pragma once
#include <vector>

#include <tenon/graph/ir/guard.hpp>
#include <tenon/lowering/program.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A flag per node: an output or an effect on a parameter that is not frozen needs it. `frozen` has a flag per entry,
/// or is null for none.
[[gnu::cold]] std::vector<int> active_nodes(const Program& program, const bool* frozen);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::vector<int> active_nodes(const Program& program, const bool* frozen) {
  std::vector<int> needed(std::size_t(program.nodes), 0);
  for (int k = 0; k < program.outputs; ++k) needed[std::size_t(program.output[k])] = 1;
  for (int id = program.nodes; id-- > 0;) {
    const Node& node = program.node[id];
    if (node.op->effect) {
      const Node* target = &program.node[node.operand[0]];
      while (target->op->view || target->op->effect) target = &program.node[target->operand[0]];
      // A look at a value is no reason to compute it. What a moment becomes is one if its parameter is not frozen.
      if (node.op->host_effect) needed[std::size_t(id)] = 1;
      else if (only_looks(*target)) {
        if (node.operands > 1) needed[std::size_t(id)] = needed[std::size_t(node.operand[1])];
      } else if (is<ops::ParameterLeaf>(*target)) needed[std::size_t(id)] = !(frozen && frozen[target->immediate]);
      else if (is<ops::StateLeaf>(*target)) needed[std::size_t(id)] |= !(frozen && frozen[node.scope]);
    }
    if (needed[std::size_t(id)])
      for (int k = 0; k < node.operands; ++k) needed[std::size_t(node.operand[k])] = 1;
  }
  return needed;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
