// Algebra that costs nothing: constants are computed, views of views and copies disappear.
#pragma once
#include <tenon/graph/leaf.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Reshape;
struct Identity;
struct StopGradient;
struct Mul;
struct Add;
}  // namespace ops

namespace detail {
template <class Reshape, class Identity, class StopGradient, class Mul, int N>
constexpr int simpler(Graph<N>& graph, int id) {
  Node& node = graph[id];
  if (node.op->fold && node.operands >= 1) {
    bool constant = true;
    for (int k = 0; k < node.operands; ++k) constant &= is<ops::Constant>(graph[node.operand[k]]);
    const double a = constant ? constant_value(graph[node.operand[0]]) : 0, b = constant && node.operands > 1 ? constant_value(graph[node.operand[1]]) : 0;
    const double value = constant ? node.op->fold(node.type.dtype, a, b) : 0;
    if (constant && value == value) {  // NaN: left to the kernel
      Node folded = constant_node(node.type.dtype, value);
      folded.scope = node.scope;
      folded.location = node.location;
      node = folded;
    }
  }
  if (is<Identity>(node) || is<StopGradient>(node)) return node.operand[0];
  if (is<Reshape>(node)) {
    if (is<Reshape>(graph[node.operand[0]])) node.operand[0] = graph[node.operand[0]].operand[0];
    if (graph[node.operand[0]].type == node.type) return node.operand[0];
  }
  if (is<Mul>(node)) {  // x * 1 is x, with the same bits
    for (int k = 0; k < 2; ++k) {
      const Node& one = graph[node.operand[k]];
      if (is<ops::Constant>(one) && constant_value(one) == 1 && graph[node.operand[1 - k]].type == node.type) return node.operand[1 - k];
    }
  }
  return id;
}
}  // namespace detail

/// Folds constants, removes copies, reshapes to the same shape, and multiplications by one, joins reshapes. O(nodes).
template <int N, class Reshape = ops::Reshape, class Identity = ops::Identity, class StopGradient = ops::StopGradient, class Mul = ops::Mul>
constexpr Graph<N> simplify(Graph<N> graph) {
  bool keep[N + 1]{};
  int to[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = to[node.operand[k]];
    keep[id] = true;
    to[id] = detail::simpler<Reshape, Identity, StopGradient, Mul>(graph, id);
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
