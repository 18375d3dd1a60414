// Constant folding: what depends on constants alone is computed by the compiler.
#pragma once
#include <tenon/graph/pass/changes.hpp>

namespace tenon::inline TENON_ABI {

/// Whether a node is a call of constants alone.
template <int N>
constexpr bool is_foldable(const Graph<N>& graph, const Node& node) {
  if (!node.op->has_fold || node.operands < 1) return false;
  for (int k = 0; k < node.operands; ++k)
    if (!is<ops::Constant>(graph[node.operand[k]])) return false;
  return true;
}

/// Replaces calls of constants by a constant, in the dtype of the result and with the bits of the kernel: an operator's
/// `fold` answers NaN where it cannot promise that. Results that an effect writes stay. O(nodes).
template <int N>
constexpr Graph<N> fold(const Graph<N>& before) {
  Graph<N> graph = before;
  const detail::Changes<N> changes(graph, [](const Node&) { return false; });
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    if (!is_foldable(graph, node) || !changes.never(id)) continue;
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
