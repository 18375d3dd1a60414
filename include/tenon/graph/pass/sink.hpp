// Order: a node waits as long as what it reads is alive anyway, so that its result takes memory later.
#pragma once
#include <tenon/graph/plan/buffers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Moves every node before the first that reads its result, that is the last to read one of its operands, or that
/// changes one. So no value lives longer, and weight gradients of short cuts wait until their inputs' do. Effects, and
/// nodes that read a value last, stay where they are; nodes that meet in one place keep their order. O(nodes).
template <int N>
constexpr Graph<N> sink(const Graph<N>& graph) {
  const Buffers<N> buffers = buffers_of(graph);
  int last[N + 1]{};  // of each buffer: the last reader
  // after the node at hand: the first reader of each node, the first effect that writes each buffer
  int next[N + 1]{}, change[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    next[id] = change[id] = graph.count;
    for (int k = 0; k < reads(graph[id]); ++k) last[buffers.owner[graph[id].operand[k]]] = id;
  }
  for (int k = 0; k < graph.outputs; ++k) last[buffers.owner[graph.output[k]]] = graph.count;
  int first_at[N + 1]{}, behind[N + 1]{};  // the nodes of each place, in order, counted from 1
  for (int id = graph.count; id-- > 0;) {
    const Node& node = graph[id];
    int to = node.op->leaf || node.op->effect ? id : next[id];
    for (int k = 0; k < reads(node); ++k) {
      const int owner = buffers.owner[node.operand[k]];
      if (!graph[owner].op->leaf) to = last[owner] < to ? last[owner] : to;
      to = change[owner] < to ? change[owner] : to;
    }
    to = to == graph.count ? id : to;
    behind[id] = first_at[to], first_at[to] = id + 1;
    for (int k = 0; k < node.operands; ++k) {
      const int operand = node.operand[k], owner = buffers.owner[operand];
      next[operand] = to < next[operand] ? to : next[operand];
      if (writes(graph, buffers, node, k)) change[owner] = id;
    }
  }
  Graph<N> result = graph;
  int new_id[N + 1]{};
  result.count = 0;
  for (int at = 0; at < graph.count; ++at)
    for (int id = first_at[at] - 1; id >= 0; id = behind[id] - 1) {
      Node node = graph[id];
      for (int k = 0; k < node.operands; ++k) node.operand[k] = new_id[node.operand[k]];
      new_id[id] = result.count;
      result.node[result.count++] = node;
    }
  for (int k = 0; k < graph.outputs; ++k) result.output[k] = new_id[graph.output[k]];
  return result;
}

}  // namespace tenon
TENON_INT_SIZES_END
