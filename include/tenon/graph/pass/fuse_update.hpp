// Fusion of a weight's gradient with its update: the product changes the weight block by block, no gradient is stored.
#pragma once
#include <tenon/graph/plan/buffers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Cast;
}

namespace detail {
// The attributes of a product with an update: the product's one setting, the update's operator, the update's settings.
constexpr bool pack_update(Node& fused, const Node& product, const Node& update) {
  fused.attributes = {};
  fused.attributes.word[0] = product.attributes.word[0];
  fused.attributes.word[update_word] = update.op->id;
  for (int i = 0; i < max_attributes; ++i)
    if (i + update_settings_begin < max_attributes)
      fused.attributes.word[i + update_settings_begin] = update.attributes.word[i];
    else if (update.attributes.word[i]) return false;
  for (int i = 1; i < max_attributes; ++i)
    if (product.attributes.word[i]) return false;
  return true;
}
// Whether node `gradient` is a product of matrices that an update can be part of.
template <int N>
constexpr bool is_product_for(const Graph<N>& graph, const Node& update, int gradient) {
  const Node& product = graph[gradient];
  const auto is_matrix = [&](int operand) { return graph[operand].type.rank == 2; };
  return rules_of(product.op).takes_update && product.steps == 0 && product.type == update.type &&
         is_matrix(gradient) && is_matrix(product.operand[0]) && is_matrix(product.operand[1]) &&
         (update.type.dtype == Dtype::float32 || update.type.dtype == Dtype::float64) && update.operands < max_operands;
}
template <int N>
constexpr bool is_widened_gradient(const Graph<N>& graph, int cast) {
  return is<ops::Cast>(graph[cast]) && graph[cast].type.dtype == Dtype::float32 &&
         is_half_dtype(graph[graph[cast].operand[0]].type.dtype);
}
}  // namespace detail

/// Whether a node is an update of which fuse_update can change what it reads.
template <int N>
constexpr bool is_fusible_update(const Graph<N>& graph, const Node& node) {
  return (node.op->update && detail::is_product_for(graph, node, node.operand[1])) ||
         (node.op->kernel.half_gradient && detail::is_widened_gradient(graph, node.operand[1]));
}

/// Merges an update (operands: parameter, gradient, moments, numbers) with the product that computes the gradient, if
/// nothing else reads it and nothing that the product reads changes between. The update gets the same gradient, so no
/// bit changes. O(nodes). A gradient that was widened from 16 bits is read as it was before, if its reader can do that:
/// widening is exact.
template <int N>
constexpr Graph<N> fuse_update(const Graph<N>& before) {
  Graph<N> graph = before;
  const Buffers<N> buffers = buffers_of(graph);
  int to[N + 1]{}, uses[N + 1]{}, changed[N + 1]{};  // changed: of each buffer, the last effect so far that wrote it
  bool keep[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    to[id] = id;
    keep[id] = true;
    for (int k = 0; k < graph[id].operands; ++k) ++uses[graph[id].operand[k]];
  }
  for (int k = 0; k < graph.outputs; ++k) ++uses[graph.output[k]];
  // What the product reads must be as it was, and not be what the update writes.
  const auto still_there = [&](int id, int product) {
    for (int k = 0; k < graph[product].operands; ++k) {
      const int read = buffers.owner[graph[product].operand[k]];
      if (changed[read] > product) return false;
      for (int w = 0; w < graph[id].operands; ++w)
        if (writes(graph, buffers, graph[id], w) && buffers.owner[graph[id].operand[w]] == read) return false;
    }
    return true;
  };
  const auto read_before_cast = [&](Node& node) {
    const int cast = node.operand[1];
    if (!detail::is_widened_gradient(graph, cast)) return;
    const int source = graph[cast].operand[0];
    if (changed[buffers.owner[source]] > cast) return;
    node.operand[1] = source;
    ++uses[source];
    keep[cast] = --uses[cast] > 0;
  };
  for (int id = 0; id < graph.count; ++id) {
    if (graph[id].op->kernel.half_gradient) read_before_cast(graph[id]);
    const Node update = graph[id];
    const int gradient = update.op->update ? update.operand[1] : id;
    const Node& product = graph[gradient];
    Node fused = update;
    if (gradient != id && uses[gradient] == 1 && detail::is_product_for(graph, update, gradient) &&
        still_there(id, gradient) && detail::pack_update(fused, product, update)) {
      fused.op = rules_of(product.op).with_update;
      fused.operands = update.operands + 1;
      fused.operand[1] = product.operand[0];
      fused.operand[2] = product.operand[1];
      for (int k = 2; k < update.operands; ++k) fused.operand[k + 1] = update.operand[k];
      graph[id] = fused;
      keep[gradient] = false;
    }
    for (int k = 0; k < graph[id].operands; ++k)
      if (writes(graph, buffers, graph[id], k)) changed[buffers.owner[graph[id].operand[k]]] = id;
  }
  compact(graph, to, keep);
  return graph;
}

}  // namespace tenon
TENON_INT_SIZES_END
