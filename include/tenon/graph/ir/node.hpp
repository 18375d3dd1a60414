// Nodes and the graph: plain values that constant evaluation builds, passes rewrite, and the executor walks.
#pragma once
#include <cstdint>
#include <source_location>

#include <tenon/graph/observe/origin.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Where in the user's source a call stands.
struct Location {
  const char* file = "";
  int line = 0, column = 0;
  constexpr Location() = default;
  constexpr Location(const std::source_location& at)
      : file(at.file_name()), line(int(at.line())), column(int(at.column())) {}
};

/// One call of an operator. Operands are indices of earlier nodes. A node is its first result; each further one that
/// some node reads is a node of its own, a Part (graph/ir/part.hpp).
struct Node {
  const OperatorInfo* op = nullptr;
  int operand[max_operands]{};
  int operands = 0;
  int parts = 0;  // bit k: there is a Part for result k
  int scope = 0;  // entry of the cell (graph/ir/structure.hpp) in which the call stands
  TensorType type{};
  Attributes attributes{};
  bool parameter_view = false;  // the view of a ParameterView
  bool same_stream = false;     // in a derivative: the immediate is that of the call
  // a run-time number outside the kernel's type: constant's bits, random stream, leaf index
  std::uint64_t immediate = 0;
  int program = 0, steps = 0;  // fused element-wise steps: Graph::program[program .. program + 2 * steps)
  Location location{};
  [[no_unique_address]] std::conditional_t<observable, Origin, NoConfig> origin{};
};

/// True if the node calls Op, of which no more than a declaration must be there.
template <class Op>
constexpr bool is(const Node& node) {
  return node.op->id == operator_id<Op>;
}

/// Of a graph: what a function or a Model returns, losses and predictions together.
inline constexpr int max_outputs = 64;

/// A graph of fixed capacity. Nodes stand in an order in which they can run.
template <int N>
struct Graph {
  static constexpr int capacity = N;
  Node node[N > 0 ? N : 1]{};
  int count = 0;
  int output[max_outputs]{};
  int outputs = 0;
  static constexpr int program_capacity = 4 * N + 64;
  int program[program_capacity]{};
  int program_length = 0;

  constexpr Node& operator[](int id) { return node[id]; }
  constexpr const Node& operator[](int id) const { return node[id]; }
};

/// Which result of its operand a Part is.
constexpr int part_number(const Node& part) { return part.attributes.word[0]; }

/// Calls body(id, k) for each node that is result k of node `call`.
template <class Nodes, class Body>
constexpr void each_part(const Nodes& nodes, int call, Body body) {
  for (int left = nodes[call].parts, id = call + 1; left; ++id)
    if (nodes[id].op->part && nodes[id].operand[0] == call)
      body(id, part_number(nodes[id])), left &= ~(1 << part_number(nodes[id]));
}

/// Drops the nodes that are not kept and sends every use of node i to node `to[i]`. The order stays.
template <int N>
constexpr void compact(Graph<N>& graph, const int* to, const bool* keep) {
  int position[N + 1]{};
  int kept = 0;
  for (int id = 0; id < graph.count; ++id) {
    if (!keep[id]) continue;
    Node& node = graph.node[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = position[to[node.operand[k]]];
    position[id] = kept;
    node.parts = 0;
    if (node.op->part) graph.node[node.operand[0]].parts |= 1 << part_number(node);
    if (kept != id) graph.node[kept] = node;
    ++kept;
  }
  for (int k = 0; k < graph.outputs; ++k) graph.output[k] = position[to[graph.output[k]]];
  for (int id = kept; id < graph.count; ++id) graph.node[id] = Node{};
  graph.count = kept;
}

}  // namespace tenon
TENON_INT_SIZES_END
