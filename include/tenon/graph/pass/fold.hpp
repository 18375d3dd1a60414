// Constant folding: what depends on constants alone is computed by the compiler.
#pragma once
#include <tenon/graph/pass/changes.hpp>

namespace tenon::inline TENON_ABI {

/// Replaces calls of constants by a constant, in the dtype of the result and with the bits of the kernel: an operator's
/// `fold` answers NaN where it cannot promise that. Results that an effect writes stay. O(nodes).
template <int N>
constexpr Graph<N> fold(const Graph<N>& before) {
  Graph<N> graph = before;
  const detail::Changes<N> changes(graph, [](const Node&) { return false; });
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    if (!node.op->has_fold || node.operands < 1 || !changes.never(id)) continue;
    bool constant = true;
    for (int k = 0; k < node.operands; ++k) constant &= is<ops::Constant>(graph[node.operand[k]]);
    if (!constant) continue;
    const double a = constant_value(graph[node.operand[0]]),
                 b = node.operands > 1 ? constant_value(graph[node.operand[1]]) : 0;
    const double value = rules_of(node.op).fold(node.type.dtype, a, b);
    if (value != value) continue;
    Node folded = constant_node(node.type.dtype, value);
    folded.scope = node.scope;
    folded.location = node.location;
    node = folded;
  }
  return graph;
}

}  // namespace tenon
