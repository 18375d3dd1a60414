// Which nodes share a buffer, and which buffers a node changes.
#pragma once
#include <tenon/graph/ir/guard.hpp>
#include <tenon/graph/ir/node.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// The node that owns the buffer of each node's value: views and effects share that of their operand 0.
template <int N>
struct Buffers {
  int owner[N + 1]{};
};
template <int N>
constexpr Buffers<N> buffers_of(const Graph<N>& graph) {
  Buffers<N> buffers;
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    buffers.owner[id] = node.op->view || node.op->effect ? buffers.owner[node.operand[0]] : id;
  }
  return buffers;
}

/// The operands of a node whose elements it reads: those of a Part none, for the call writes its buffer.
constexpr int reads(const Node& node) { return node.op->part ? 0 : node.operands; }
/// The node whose kernel writes the buffer of node `id`.
template <int N>
constexpr int maker(const Graph<N>& graph, int id) {
  return graph[id].op->part ? graph[id].operand[0] : id;
}

/// True if the node may change the buffer of operand k: an effect writes operand 0, and training states such as
/// moments, but not the flag of sums. One on the host writes nothing.
template <int N>
constexpr bool writes(const Graph<N>& graph, const Buffers<N>& buffers, const Node& node, int k) {
  if (!node.op->effect || node.op->host_effect) return false;
  const Node& owner = graph[buffers.owner[node.operand[k]]];
  return k == 0 || (is<ops::StateLeaf>(owner) && owner.immediate != std::uint64_t(first_gradient_state));
}

}  // namespace tenon
TENON_INT_SIZES_END
