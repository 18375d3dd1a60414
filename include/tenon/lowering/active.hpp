// Which instructions of a compiled graph run: not those that only frozen parameters would need.
#pragma once
#include <vector>

#include <tenon/graph/ir/guard.hpp>
#include <tenon/lowering/program.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A flag per node: an output or an effect on a parameter that is not frozen needs it. `frozen` has a flag per entry,
/// or is null for none. `elsewhere`, if not null: parameters that are updated elsewhere. Looks at their gradients take
/// place, and so do sums of these over batches.
[[gnu::cold]] std::vector<int> active_nodes(const Program& program, const bool* frozen,
                                            const bool* elsewhere = nullptr);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::vector<int> active_nodes(const Program& program, const bool* frozen,
                                                             const bool* elsewhere) {
  const auto at = [&](const Node& node, int operand) -> const Node& { return program.node[node.operand[operand]]; };
  const auto changes = [&](std::uint64_t entry) {
    return !(frozen && frozen[entry]) && !(elsewhere && elsewhere[entry]);
  };
  const auto looks_elsewhere = [&](const Node& node) {
    const Node& gradient = at(node, 1);
    const std::uint64_t entry = is<ops::Input>(gradient) ? gradient.immediate : std::uint64_t(gradient.scope);
    return elsewhere && elsewhere[entry] && !frozen[entry];
  };
  const auto adds_up_elsewhere = [&](const Node& node) {
    return elsewhere && !frozen[node.scope] && node.operands > 2 && is<ops::StateLeaf>(at(node, 2)) &&
           at(node, 2).immediate == std::uint64_t(first_gradient_state);
  };
  // Whether a look takes place if the value is there. That may be the gradient of a parameter that is not frozen, too.
  const auto looks = [&](const Node& node) { return !(frozen && frozen[node.scope]); };
  // The buffer that an effect changes.
  const auto changed_by = [&](const Node& node) -> const Node& {
    const Node* target = &at(node, 0);
    while (target->op->view || target->op->effect) target = &at(*target, 0);
    return *target;
  };
  std::vector<int> needed(std::size_t(program.nodes), 0);
  for (int k = 0; k < program.outputs; ++k) needed[std::size_t(program.output[k])] = 1;
  for (int id = program.nodes; id-- > 0;) {
    const Node& node = program.node[id];
    if (node.op->effect) {
      const Node& target = changed_by(node);
      // A look at a value is no reason to compute it. What a moment becomes is one if its parameter is not frozen.
      if (node.op->host_effect) needed[std::size_t(id)] = 1;
      else if (only_looks(target)) {
        if (node.operands > 1)
          needed[std::size_t(id)] = (looks(node) && needed[std::size_t(node.operand[1])]) || looks_elsewhere(node);
        else needed[std::size_t(id)] |= elsewhere != nullptr;  // ranks agree on a flag, also with one that updates none
      } else if (is<ops::ParameterLeaf>(target)) needed[std::size_t(id)] = changes(target.immediate);
      else if (is<ops::StateLeaf>(target))
        needed[std::size_t(id)] |= changes(std::uint64_t(node.scope)) || adds_up_elsewhere(node);
    }
    if (needed[std::size_t(id)])
      for (int k = 0; k < node.operands; ++k) needed[std::size_t(node.operand[k])] = 1;
  }
  // A value may be read by a node before the look at it alone, such as the cast of a gradient that a look reads as it
  // was before.
  for (int id = 0; id < program.nodes; ++id)
    if (const Node& node = program.node[id]; node.op->effect && !node.op->host_effect && node.operands > 1)
      if (only_looks(changed_by(node)) && looks(node)) needed[std::size_t(id)] |= needed[std::size_t(node.operand[1])];
  return needed;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
