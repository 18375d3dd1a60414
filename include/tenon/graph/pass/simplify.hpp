// Algebra that costs nothing: views of views, copies, and multiplications by one disappear.
#pragma once
#include <tenon/graph/pass/changes.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Reshape;
struct Identity;
struct StopGradient;
struct Mul;
struct Add;
}  // namespace ops

namespace detail {
// True if a product with one has the bits of x. A kernel takes a denormal number for zero, so a floating-point x must
// come from a kernel that has none among its results.
constexpr bool times_one_is_itself(const Node& x) {
  return !is_floating(x.type.dtype) || is<ops::Mul>(x) || is<ops::Add>(x);
}
constexpr bool is_one(const Node& node) { return is<ops::Constant>(node) && constant_value(node) == 1; }
template <int N>
constexpr int simpler(Graph<N>& graph, int id, const Changes<N>& changes) {
  Node& node = graph[id];
  if ((is<ops::Identity>(node) || is<ops::StopGradient>(node)) && changes.allow(id, node.operand[0]))
    return node.operand[0];
  if (is<ops::Reshape>(node)) {
    if (is<ops::Reshape>(graph[node.operand[0]])) node.operand[0] = graph[node.operand[0]].operand[0];
    if (graph[node.operand[0]].type == node.type) return node.operand[0];
  }
  if (is<ops::Mul>(node)) {
    for (int k = 0; k < 2; ++k) {
      const int other = node.operand[1 - k];
      if (is_one(graph[node.operand[k]]) && graph[other].type == node.type && times_one_is_itself(graph[other]) &&
          changes.allow(id, other))
        return other;
    }
  }
  return id;
}
}  // namespace detail

/// Whether a node may disappear. The first that does is such a node before any other has gone.
template <int N>
constexpr bool may_go(const Graph<N>& graph, const Node& node) {
  if (is<ops::Mul>(node)) return detail::is_one(graph[node.operand[0]]) || detail::is_one(graph[node.operand[1]]);
  if (is<ops::Reshape>(node))
    return is<ops::Reshape>(graph[node.operand[0]]) || graph[node.operand[0]].type == node.type;
  return is<ops::Identity>(node) || is<ops::StopGradient>(node);
}

/// Removes copies, reshapes to the same shape, and multiplications by one where they change no bit; joins reshapes.
/// O(nodes).
template <int N>
constexpr Graph<N> simplify(const Graph<N>& before) {
  Graph<N> graph = before;
  const detail::Changes<N> changes(graph, [](const Node& node) {
    return node.op->view || node.op->effect || is<ops::Identity>(node) || is<ops::StopGradient>(node) ||
           is<ops::Mul>(node);
  });
  bool keep[N + 1]{};
  int to[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    Node& node = graph[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = to[node.operand[k]];
    keep[id] = true;
    to[id] = detail::simpler(graph, id, changes);
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
TENON_INT_SIZES_END
