// Fusion: chains of element-wise nodes become one kernel, or the epilogue of the product that feeds them.
#pragma once
#include <tenon/graph/ir/step.hpp>
#include <tenon/graph/plan/buffers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {

// One fused node under construction: its operands, its steps, and where the merged nodes' results are.
template <int N>
struct FusedProgram {
  Node node{};
  Step step[max_steps]{};
  int steps = 0, base = 0;  // base: operands that belong to the operator whose epilogue this is
  bool fits = true;

  // Source number of a node's value; adds an operand if needed. In an epilogue source 0 is the operator's own result.
  constexpr int source(int id) {
    for (int k = base; k < node.operands; ++k)
      if (node.operand[k] == id) return k - base + (base ? 1 : 0);
    if (node.operands == max_operands) {
      fits = false;
      return 0;
    }
    node.operand[node.operands] = id;
    return node.operands++ - base + (base ? 1 : 0);
  }
  constexpr int add(const Step& s) {
    if (steps == max_steps) {
      fits = false;
      return 0;
    }
    step[steps] = s;
    return step_result + steps++;
  }
  // Copies the steps of an already fused element-wise node; returns the source of its result.
  constexpr int splice(const Graph<N>& graph, const Node& merged) {
    const int offset = steps;
    int result = 0;
    for (int i = 0; i < merged.steps; ++i) {
      Step s = Step::unpack(graph.program[merged.program + 2 * i], graph.program[merged.program + 2 * i + 1]);
      for (int& from : s.source) {
        if (from == no_source) continue;
        from = from >= step_result ? from + offset : source(merged.operand[from]);
      }
      result = add(s);
    }
    return result;
  }
};

// True if every operand has the dtype of the result: a fused kernel keeps its values in one type.
template <int N>
constexpr bool one_dtype(const Graph<N>& graph, const Node& node) {
  for (int k = 0; k < node.operands; ++k)
    if (graph[node.operand[k]].type.dtype != node.type.dtype) return false;
  return true;
}
// True if an element-wise node can be a step of a kernel.
constexpr bool can_be_step(const Node& node) { return node.operands <= max_sources; }
// True if an epilogue can read the operand: a number, the result's shape, or one value per channel, where `channel` is
// the axis of the result along which the product has its channels.
constexpr bool epilogue_operand(const TensorType& t, const TensorType& result, int channel) {
  if (t.same_shape(result) || (t.count(1) == 1 && !t.batched())) return true;
  for (int axis = 0; axis < t.rank; ++axis) {
    const int at = axis + result.rank - t.rank;
    if (at < 0 || t.extent[axis] != (at == channel ? result.extent[at] : 1)) return false;
  }
  return t.rank >= result.rank - channel;
}

template <int N>
class Fuser {
 public:
  constexpr explicit Fuser(const Graph<N>& graph) : graph_(graph), buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph_.count; ++id) {
      to_[id] = id;
      keep_[id] = true;
      for (int k = 0; k < graph_[id].operands; ++k) ++uses_[graph_[id].operand[k]];
    }
    for (int k = 0; k < graph_.outputs; ++k) ++uses_[graph_.output[k]];
  }
  constexpr Graph<N> run() {
    for (int id = 0; id < graph_.count; ++id) {
      if (graph_[id].op->elementwise && !is_chain(graph_[id]) && can_be_step(graph_[id]) &&
          one_dtype(graph_, graph_[id]) && !into_epilogue(id) && rules_of(graph_[id].op).chains)
        into_chain(id);
      for (int k = 0; k < graph_[id].operands; ++k)
        if (writes(graph_, buffers_, graph_[id], k)) changed_[buffers_.owner[graph_[id].operand[k]]] = id;
    }
    compact(graph_, to_, keep_);
    return graph_;
  }

 private:
  static constexpr bool is_chain(const Node& node) {
    return rules_of(node.op).chains && rules_of(node.op).chain->id == node.op->id;
  }
  // True if node `operand` can be computed where `id` is: no other node reads it, and what it reads does not change
  // between.
  constexpr bool merges(int id, int operand) const {
    return uses_[operand] == 1 && graph_[operand].type == graph_[id].type && unchanged(operand);
  }
  constexpr bool unchanged(int operand) const {
    for (int k = 0; k < graph_[operand].operands; ++k)
      if (changed_[buffers_.owner[graph_[operand].operand[k]]] > operand) return false;
    return true;
  }

  // The step of an element-wise node; operand `replaced` comes from source `from`.
  constexpr void append(FusedProgram<N>& program, const Node& node, int replaced, int from) const {
    Step s{node.op->id};
    for (int k = 0; k < node.operands; ++k)
      s.source[k] = node.operand[k] == replaced ? from : program.source(node.operand[k]);
    program.add(s);
  }
  // The number of operands that the epilogue of a node has already: they follow those of the operator.
  constexpr int last_source(const Node& node) const {
    int last = 0;
    for (int i = 0; i < node.steps; ++i) {
      const Step step = Step::unpack(0, graph_.program[node.program + 2 * i + 1]);  // nvcc: no temporary in the loop
      for (const int from : step.source)
        if (from != no_source && from < step_result && from > last) last = from;
    }
    return last;
  }
  constexpr bool into_epilogue(int id) {
    const Node node = graph_[id];
    for (int k = 0; k < node.operands; ++k) {
      const int product = node.operand[k];
      const Node& p = graph_[product];
      if (!p.op->kernel.epilogue || !merges(id, product)) continue;
      FusedProgram<N> program;
      program.node = p;
      program.base = p.operands - last_source(p);
      bool readable = true;
      for (int other = 0; other < node.operands; ++other)
        if (node.operand[other] != product)
          readable &= epilogue_operand(graph_[node.operand[other]].type, node.type,
                                       normalized_axis(p.op->kernel.channel_axis, node.type.rank));
      if (!readable) continue;
      int from = 0;  // the operator's own result
      for (int i = 0; i < p.steps; ++i)
        from = program.add(Step::unpack(graph_.program[p.program + 2 * i], graph_.program[p.program + 2 * i + 1]));
      append(program, node, product, from);
      if (!program.fits) continue;
      store(id, program, product);
      return !keep_[product];
    }
    return false;
  }
  constexpr void into_chain(int id) {
    const Node node = graph_[id];
    FusedProgram<N> program;
    program.node = node;
    program.node.op = rules_of(node.op).chain;
    program.node.operands = 0;
    program.node.attributes = {};
    int merged[max_operands]{}, from[max_operands]{}, count = 0;
    for (int k = 0; k < node.operands; ++k) {
      const int operand = node.operand[k];
      const Node& before = graph_[operand];
      if (!before.op->elementwise || !rules_of(before.op).chains || !merges(id, operand) ||
          !one_dtype(graph_, before) || !(is_chain(before) || can_be_step(before)))
        continue;
      FusedProgram<N> tried = program;
      int result = 0;
      if (is_chain(before)) result = tried.splice(graph_, before);
      else {
        Step s{before.op->id};
        for (int i = 0; i < before.operands; ++i) s.source[i] = tried.source(before.operand[i]);
        result = tried.add(s);
      }
      if (!tried.fits || tried.steps == max_steps) continue;
      program = tried;
      merged[count] = operand;
      from[count++] = result;
    }
    if (count == 0) return;
    Step s{node.op->id};
    for (int k = 0; k < node.operands; ++k) {
      int at = -1;
      for (int m = 0; m < count; ++m)
        if (merged[m] == node.operand[k]) at = from[m];
      s.source[k] = at >= 0 ? at : program.source(node.operand[k]);
    }
    program.add(s);
    if (!program.fits) return;
    store(id, program, merged[0]);
    for (int m = 1; m < count && !keep_[merged[0]]; ++m) keep_[merged[m]] = false;
  }
  // Replaces node `id` by the fused one, if its program finds room; a program that it replaces at the end of the pool
  // goes.
  constexpr void store(int id, FusedProgram<N>& program, int dropped) {
    const Node& before = graph_[dropped];
    int at = graph_.program_length;
    if (before.steps && before.program + 2 * before.steps == at) at = before.program;
    if (at + 2 * program.steps > Graph<N>::program_capacity) return;
    program.node.location = graph_[id].location;
    program.node.program = at;
    program.node.steps = program.steps;
    graph_[id] = program.node;
    for (int i = 0; i < program.steps; ++i) {
      graph_.program[at++] = program.step[i].op;
      graph_.program[at++] = program.step[i].packed_sources();
    }
    graph_.program_length = at;
    keep_[dropped] = false;
  }

  Graph<N> graph_;
  Buffers<N> buffers_;
  int to_[N + 1]{}, uses_[N + 1]{};
  int changed_[N + 1]{};  // of each buffer: the last effect so far that wrote it
  bool keep_[N + 1]{};
};
}  // namespace detail

/// Merges an element-wise node with the nodes that only it reads, if they are element-wise or products with an
/// epilogue. Every step still rounds to its dtype, so no bit changes. O(nodes x steps).
template <int N>
constexpr Graph<N> fuse(const Graph<N>& graph) {
  return detail::Fuser<N>(graph).run();
}

}  // namespace tenon
TENON_INT_SIZES_END
