// Algebra that costs nothing: constants are computed, views of views and copies disappear.
#pragma once
#include <tenon/graph/buffers.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Reshape;
struct Identity;
struct StopGradient;
struct Mul;
struct Add;
}  // namespace ops

namespace detail {
/// When the buffers of a graph change, and until when each value is used, also under another name.
template <int N>
class Changes {
 public:
  /// `renames(node)`: the node's result may become another name for one of its operands.
  template <class Renames>
  constexpr Changes(const Graph<N>& graph, Renames renames) : buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph.count; ++id)
      for (int k = 0; k < graph[id].operands; ++k) {
        if (!writes(graph, buffers_, graph[id], k)) continue;
        const int owner = buffers_.owner[graph[id].operand[k]];
        if (!first_[owner]) first_[owner] = id;
        last_[owner] = id;
      }
    for (int k = 0; k < graph.outputs; ++k) used_[graph.output[k]] = graph.count;
    for (int id = graph.count; id-- > 0;)
      for (int k = 0; k < graph[id].operands; ++k) {
        int& used = used_[graph[id].operand[k]];
        const int until = renames(graph[id]) && used_[id] > id ? used_[id] : id;
        used = used < until ? until : used;
      }
  }
  /// True if no effect ever writes the node's own buffer.
  constexpr bool never(int id) const { return !first_[id]; }
  /// True if `copy` can go and its users read `original`: neither of the two changes while they are used.
  constexpr bool allow(int copy, int original) const {
    const int owner = buffers_.owner[original];
    return never(copy) && !(last_[owner] > copy && first_[owner] <= used_[copy]);
  }

 private:
  Buffers<N> buffers_;
  int first_[N + 1]{}, last_[N + 1]{}, used_[N + 1]{};
};

template <class Reshape, class Identity, class StopGradient, class Mul, int N>
constexpr int simpler(Graph<N>& graph, int id, const Changes<N>& changes) {
  Node& node = graph[id];
  if (node.op->has_fold && node.operands >= 1 && changes.never(id)) {
    bool constant = true;
    for (int k = 0; k < node.operands; ++k) constant &= is<ops::Constant>(graph[node.operand[k]]);
    const double a = constant ? constant_value(graph[node.operand[0]]) : 0, b = constant && node.operands > 1 ? constant_value(graph[node.operand[1]]) : 0;
    const double value = constant ? rules_of(node.op).fold(node.type.dtype, a, b) : 0;
    if (constant && value == value) {  // NaN: left to the kernel
      Node folded = constant_node(node.type.dtype, value);
      folded.scope = node.scope;
      folded.location = node.location;
      node = folded;
    }
  }
  if ((is<Identity>(node) || is<StopGradient>(node)) && changes.allow(id, node.operand[0])) return node.operand[0];
  if (is<Reshape>(node)) {
    if (is<Reshape>(graph[node.operand[0]])) node.operand[0] = graph[node.operand[0]].operand[0];
    if (graph[node.operand[0]].type == node.type) return node.operand[0];
  }
  if (is<Mul>(node)) {  // x * 1 is x, with the same bits
    for (int k = 0; k < 2; ++k) {
      const Node& one = graph[node.operand[k]];
      const int other = node.operand[1 - k];
      if (is<ops::Constant>(one) && constant_value(one) == 1 && graph[other].type == node.type && changes.allow(id, other)) return other;
    }
  }
  return id;
}
}  // namespace detail

/// Folds constants, removes copies, reshapes to the same shape, and multiplications by one, joins reshapes. O(nodes).
template <int N, class Reshape = ops::Reshape, class Identity = ops::Identity, class StopGradient = ops::StopGradient, class Mul = ops::Mul>
constexpr Graph<N> simplify(Graph<N> graph) {
  const detail::Changes<N> changes(graph, [](const Node& node) { return node.op->view || node.op->effect || is<Identity>(node) || is<StopGradient>(node) || is<Mul>(node); });
  bool keep[N + 1]{};
  int to[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = to[node.operand[k]];
    keep[id] = true;
    to[id] = detail::simpler<Reshape, Identity, StopGradient, Mul>(graph, id, changes);
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
