// PassGraph: what a pass has made of a graph, kept in programs that can be observed.
#pragma once
#include <tenon/graph/ir/node.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// A graph as one of the passes leaves it.
struct PassGraph {
  const char* pass = "";       // "captured" for what was traced, "final" for what runs
  const Node* node = nullptr;  // null: the pass was off, or has changed nothing
  int nodes = 0;
  const int* output = nullptr;
  int outputs = 0;
  const int* step = nullptr;  // fused steps, as Graph::program
};

/// The graphs of a program in the order of the passes; the last one is that of the program itself.
struct PassGraphs {
  const PassGraph* graph = nullptr;
  int count = 0;
  // of each node of the last one: the node that owns its memory, and when that is needed first and last; `last` may be
  // the number of nodes, for results
  const int *owner = nullptr, *first = nullptr, *last = nullptr;
};

namespace detail {
/// The nodes of a pass without the room that it needed, and without what constant evaluation alone needs.
template <int count, int outputs, int steps>
struct PassTable {
  Node node[count ? count : 1]{};
  int output[outputs ? outputs : 1]{};
  int step[steps ? steps : 1]{};
};
template <int count, int outputs, int steps, int N>
constexpr auto pass_table(const Graph<N>& graph) {
  PassTable<count, outputs, steps> made;
  for (int id = 0; id < count; ++id) {
    made.node[id] = graph[id];
    made.node[id].op = rules_of(graph[id].op).run_time;
  }
  for (int k = 0; k < outputs; ++k) made.output[k] = graph.output[k];
  for (int k = 0; k < steps; ++k) made.step[k] = graph.program[k];
  return made;
}
template <int steps>
struct StepTable {
  int word[steps ? steps : 1]{};
};
/// Whether a pass has changed nothing that a reader sees.
template <int N>
constexpr bool same_graph(const Graph<N>& a, const Graph<N>& b) {
  if (a.count != b.count || a.program_length != b.program_length) return false;
  for (int id = 0; id < a.count; ++id) {
    const Node &one = a[id], &other = b[id];
    if (one.op->id != other.op->id || one.operands != other.operands || one.steps != other.steps) return false;
    for (int k = 0; k < one.operands; ++k)
      if (one.operand[k] != other.operand[k]) return false;
    if (!(one.attributes == other.attributes)) return false;
  }
  return true;
}
}  // namespace detail

}  // namespace tenon
TENON_INT_SIZES_END
