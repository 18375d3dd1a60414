// Dead-code elimination.
#pragma once
#include <tenon/graph/ir/node.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Drops every node that no output and no effect needs. O(nodes).
template <int N>
constexpr Graph<N> prune(const Graph<N>& before) {
  Graph<N> graph = before;
  bool needed[N + 1]{};
  int to[N + 1]{};
  for (int k = 0; k < graph.outputs; ++k) needed[graph.output[k]] = true;
  for (int id = graph.count; id-- > 0;) {
    to[id] = id;
    needed[id] |= graph[id].op->effect;
    if (!needed[id]) continue;
    for (int k = 0; k < graph[id].operands; ++k) needed[graph[id].operand[k]] = true;
  }
  compact(graph, to, needed);
  return graph;
}

}  // namespace tenon
TENON_INT_SIZES_END
