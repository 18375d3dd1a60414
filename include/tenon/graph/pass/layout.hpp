// Layout: which images stand in NCHW16n, and where the layout changes.
#pragma once
#include <tenon/graph/plan/tiled_groups.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ToNchw16n;
struct FromNchw16n;
}

/// What the layout pass decides. It holds for samples that fill blocks (in_nchw16n(n)), those of a batch or, where all
/// these values live within a tile, of a tile; others are computed row-major by the same instructions.
template <int N>
struct Layouts {
  bool kernel[N + 1]{};  // the node's kernel is the one for NCHW16n
  bool value[N + 1]{};   // its result is NCHW16n
  int conversions = 0;
};

namespace detail {
// True if a node with this layout wants operand k in the other layout than it has.
template <int N>
constexpr bool converts(const Graph<N>& graph, const Layouts<N>& layouts, int id, int k) {
  const int operand = graph[id].operand[k];
  return is_image(graph[operand].type) &&
         layouts.value[operand] != (layouts.kernel[id] && (k == 0 || graph[id].op->kernel.nchw16n != Nchw16n::first));
}
}  // namespace detail

/// An operator that wants blocks gets them, one that follows does as its operands; everything else is row-major. A
/// value changes its layout at most once. O(nodes).
template <int N>
constexpr Layouts<N> choose_layouts(const Graph<N>& graph) {
  Layouts<N> layouts;
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    if (node.op->part) {
      layouts.kernel[id] = layouts.kernel[node.operand[0]];
      layouts.value[id] = layouts.kernel[id] && node.type.batched() && node.type.rank == 4;
      continue;
    }
    TensorType operand[max_operands]{};
    bool wanted = node.op->kernel.nchw16n == Nchw16n::wants;
    const bool first = node.op->kernel.nchw16n == Nchw16n::first;
    for (int k = 0; k < node.operands; ++k)
      operand[k] = graph[node.operand[k]].type, wanted |= layouts.value[node.operand[k]] && (k == 0 || !first);
    for (int k = 0; k < node.operands; ++k)  // places of maxima, which no conversion exists for
      if (graph[node.operand[k]].op->part && operand[k].batched() && operand[k].rank == 4 && !is_image(operand[k]))
        wanted = layouts.value[node.operand[k]];
    layouts.kernel[id] = wanted && node.op->kernel.nchw16n != Nchw16n::never &&
                         rules_of(node.op).fits_nchw16n(node.type, operand, node.operands);
    layouts.value[id] = layouts.kernel[id] && !first && is_image(node.type);
  }
  bool converted[N + 1]{};
  const auto convert = [&](int id) { layouts.conversions += !converted[id], converted[id] = true; };
  for (int id = 0; id < graph.count; ++id)
    for (int k = 0; k < graph[id].operands; ++k)
      if (detail::converts(graph, layouts, id, k)) convert(graph[id].operand[k]);
  for (int k = 0; k < graph.outputs; ++k)
    if (layouts.value[graph.output[k]]) convert(graph.output[k]);
  return layouts;
}

/// A graph of capacity M with its layouts and groups.
template <int M>
struct LaidOut {
  Graph<M> graph{};
  Layouts<M> layouts{};
  TiledGroups<M> groups{};
};

/// Puts a conversion before the first reader of each value that has the other layout, into the reader's group.
/// O(nodes).
template <int M, class Target = Cpu, int N, class To = ops::ToNchw16n, class From = ops::FromNchw16n>
constexpr LaidOut<M> lay_out(const Graph<N>& graph, const Layouts<N>& layouts, const TiledGroups<N>& groups = {}) {
  LaidOut<M> result;
  Graph<M>& g = result.graph;
  int position[N + 1]{}, converted[N + 1]{};
  short group = 0;  // of the node whose operands are converted
  const auto emit = [&](const Node& node, bool kernel, bool value) {
    result.groups.of[g.count] = group;
    result.layouts.kernel[g.count] = kernel, result.layouts.value[g.count] = value;
    g.node[g.count] = node;
    return g.count++;
  };
  const auto convert = [&](int id) {
    if (converted[id]) return converted[id];
    Node node;
    node.op = layouts.value[id] ? static_cast<const OperatorInfo*>(&info<From, Target>) : &info<To, Target>;
    node.operand[0] = position[id], node.operands = 1;
    node.type = graph[id].type, node.scope = graph[id].scope, node.location = graph[id].location;
    return converted[id] = emit(node, true, !layouts.value[id]);
  };
  for (int id = 0; id < graph.count; ++id) {
    Node node = graph[id];
    group = groups.of[id];
    for (int k = 0; k < node.operands; ++k)
      node.operand[k] =
          detail::converts(graph, layouts, id, k) ? convert(graph[id].operand[k]) : position[graph[id].operand[k]];
    position[id] = emit(node, layouts.kernel[id], layouts.value[id]);
    result.groups.sums[position[id]] = groups.sums[id];
  }
  group = 0;
  result.groups.count = groups.count, result.groups.whole = groups.whole;
  g.outputs = graph.outputs;
  for (int k = 0; k < graph.outputs; ++k)
    g.output[k] = layouts.value[graph.output[k]] ? convert(graph.output[k]) : position[graph.output[k]];
  for (int i = 0; i < graph.program_length; ++i) g.program[i] = graph.program[i];
  g.program_length = graph.program_length;
  return result;
}

}  // namespace tenon
TENON_INT_SIZES_END
