// Common-subexpression elimination.
#pragma once
#include <tenon/graph/plan/buffers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
constexpr bool same_call(const Node& a, const Node& b) {
  if (a.op->id != b.op->id || a.operands != b.operands || a.immediate != b.immediate || !(a.type == b.type) ||
      !(a.attributes == b.attributes))
    return false;
  for (int k = 0; k < a.operands; ++k)
    if (a.operand[k] != b.operand[k]) return false;
  return a.steps == 0 && b.steps == 0;
}
}  // namespace detail

/// Of all nodes that compute the same value, the first one stays. Effects are never merged, nor is what stands before
/// and after a change of an operand. O(nodes), by hashing.
template <int N>
constexpr Graph<N> share_common(const Graph<N>& before) {
  Graph<N> graph = before;
  constexpr int slots = N < 200 ? 512 : N < 2000 ? 8192 : 65536;
  const Buffers<N> buffers = buffers_of(graph);
  short table[slots]{};
  bool keep[N + 1]{}, changes[N + 1]{};  // changes: some effect writes the node's own buffer
  int to[N + 1]{}, changed[N + 1]{};     // changed: the last effect so far that did
  for (int id = 0; id < graph.count; ++id)
    for (int k = 0; k < graph[id].operands; ++k)
      changes[buffers.owner[graph[id].operand[k]]] |= writes(graph, buffers, graph[id], k);
  const auto stale = [&](int earlier) {
    for (int k = 0; k < graph[earlier].operands; ++k)
      if (changed[buffers.owner[graph[earlier].operand[k]]] > earlier) return true;
    return false;
  };
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    to[id] = id;
    keep[id] = true;
    std::uint64_t h = hash_number(node.immediate, std::uint64_t(node.op->id));
    for (int k = 0; k < node.operands; ++k) {
      if (writes(graph, buffers, node, k)) changed[buffers.owner[node.operand[k]]] = id;
      node.operand[k] = to[node.operand[k]];
      h = (h ^ std::uint64_t(node.operand[k])) * std::uint64_t{1099511628211};
    }
    if (node.op->effect || (!node.op->leaf && changes[id])) continue;
    unsigned slot = unsigned(h ^ h >> 32) % slots;
    while (table[slot] && !detail::same_call(graph[table[slot] - 1], node)) slot = (slot + 1) % slots;
    if (table[slot] && !stale(table[slot] - 1)) {
      to[id] = table[slot] - 1;
      keep[id] = false;
    } else {
      table[slot] = static_cast<short>(id + 1);
    }
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
TENON_INT_SIZES_END
