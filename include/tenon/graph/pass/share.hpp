// Common-subexpression elimination.
#pragma once
#include <tenon/graph/node.hpp>
#include <tenon/graph/pass/prune.hpp>

namespace tenon::inline TENON_ABI {

/// Of all nodes that compute the same value, the first one stays; with effects none is merged. O(nodes), by hashing.
template <int N>
constexpr Graph<N> share_common(Graph<N> graph) {
  constexpr int slots = N < 200 ? 512 : N < 2000 ? 8192 : 65536;
  short table[slots]{};
  bool keep[N + 1]{};
  int to[N + 1]{};
  const auto same = [&](const Node& a, const Node& b) {
    if (a.op->id != b.op->id || a.operands != b.operands || a.immediate != b.immediate || !(a.type == b.type) || !(a.attributes == b.attributes)) return false;
    for (int k = 0; k < a.operands; ++k)
      if (a.operand[k] != b.operand[k]) return false;
    return a.steps == 0 && b.steps == 0;
  };
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    to[id] = id;
    keep[id] = true;
    std::uint64_t h = hash_number(node.immediate, std::uint64_t(node.op->id));
    for (int k = 0; k < node.operands; ++k) {
      node.operand[k] = to[node.operand[k]];
      h = (h ^ std::uint64_t(node.operand[k])) * 1099511628211ull;
    }
    if (node.op->effect) continue;
    for (unsigned slot = unsigned(h ^ h >> 32) % slots;; slot = (slot + 1) % slots) {
      if (!table[slot]) {
        table[slot] = static_cast<short>(id + 1);
        break;
      }
      if (same(graph[table[slot] - 1], node)) {
        to[id] = table[slot] - 1;
        keep[id] = false;
        break;
      }
    }
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
