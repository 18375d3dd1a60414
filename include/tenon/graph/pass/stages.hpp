// Stages: nodes that can run for one block of samples after the other are put side by side.
#pragma once
#include <tenon/graph/buffers.hpp>
#include <tenon/graph/pass/layout.hpp>
#include <tenon/graph/stages.hpp>

namespace tenon::inline TENON_ABI {

/// A graph of capacity M with its layouts and stages.
template <int M>
struct Staged {
  Graph<M> graph{};
  Layouts<M> layouts{};
  Stages<M> stages{};
};

namespace detail {
// What a stage reads again for every block, such as a weight, has to stay in the cache beside the block's values: no more bytes than this.
inline constexpr long most_read_again = 256 << 10;
// A sum over the batch is added up once per block: no more bytes than this.
inline constexpr long most_summed = 64 << 10;
// The values of a block: no more bytes per sample than this, or they do not stay in any cache.
inline constexpr long most_per_sample = 256 << 10;

/// Collects the nodes of one stage after the other. Between the first node of a stage and its last there can be nodes that need
/// the whole batch. Those that need nothing of the stage run before it, the others behind it; a node of blocks that needs one of the
/// others begins the next stage.
template <int M>
class StageMaker {
 public:
  explicit constexpr StageMaker(const LaidOut<M>& from) : from_(from), graph_(from.graph), buffers_(buffers_of(from.graph)) {
    for (int id = 0; id < graph_.count; ++id)
      for (int k = 0; k < graph_[id].operands; ++k) last_use_[buffers_.owner[graph_[id].operand[k]]] = id;
    for (int k = 0; k < graph_.outputs; ++k) last_use_[buffers_.owner[graph_.output[k]]] = graph_.count;
  }

  constexpr Staged<M> make() {
    for (int id = 0; id < graph_.count; ++id) {
      const Kind kind = kind_of(id);
      if (kind == Kind::whole) kind_[id] = waits(id) ? Kind::behind : Kind::before;
      else {
        if (needs_behind(id)) close(id);
        kind_[id] = kind;
      }
      note(id);
    }
    close(graph_.count);
    result_.graph.outputs = graph_.outputs;
    for (int k = 0; k < graph_.outputs; ++k) result_.graph.output[k] = position_[graph_.output[k]];
    for (int i = 0; i < graph_.program_length; ++i) result_.graph.program[i] = graph_.program[i];
    result_.graph.program_length = graph_.program_length;
    return result_;
  }

 private:
  enum class Kind : signed char { whole, before, block, sum, behind };

  constexpr bool fits(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k)
      if (const TensorType& t = graph_[graph_[id].operand[k]].type; !t.batched() && t.bytes(1) > most_read_again) return false;
    return true;
  }
  constexpr bool is_sum(int id) const {
    const Node& node = graph_[id];
    if (!node.op->block_sums || node.type.batched() || node.type.bytes(1) > most_summed) return false;
    TensorType operand[max_operands]{};
    for (int k = 0; k < node.operands; ++k) operand[k] = graph_[node.operand[k]].type;
    return rules_of(node.op).fits_blocks(node.type, operand, node.operands);
  }
  constexpr Kind kind_of(int id) const {
    const Node& node = graph_[id];
    if (node.op->leaf || node.op->effect) return Kind::whole;
    if (node.op->view) return node.type.batched() && in_stage(node.operand[0]) ? Kind::block : Kind::whole;
    if (node.op->per_sample && node.type.batched()) return fits(id) ? Kind::block : Kind::whole;
    return is_sum(id) && fits(id) ? Kind::sum : Kind::whole;
  }
  constexpr bool in_stage(int id) const { return id >= begin_ && kind_[id] == Kind::block; }
  // True if an operand is there, or has changed, only when the stage is over.
  constexpr bool needs_behind(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int operand = graph_[id].operand[k];
      if (operand >= begin_ && (kind_[operand] == Kind::behind || kind_[operand] == Kind::sum)) return true;
      if (written_[buffers_.owner[operand]] > begin_) return true;
    }
    return false;
  }
  // True if a node for the whole batch has to run behind the stage.
  constexpr bool waits(int id) const {
    if (needs_behind(id)) return true;
    for (int k = 0; k < graph_[id].operands; ++k)
      if (in_stage(graph_[id].operand[k]) || (writes(graph_, buffers_, graph_[id], k) && read_[buffers_.owner[graph_[id].operand[k]]] > begin_)) return true;
    return false;
  }
  constexpr void note(int id) {
    if (kind_[id] == Kind::before) return;
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int owner = buffers_.owner[graph_[id].operand[k]];
      read_[owner] = id + 1;
      if (writes(graph_, buffers_, graph_[id], k)) written_[owner] = id + 1;
    }
  }

  // True if it pays to run the nodes of the stage block by block: some are for images in blocks, and most of what they compute
  // nothing else needs.
  constexpr bool pays(int end) const {
    bool leaves[M + 1]{}, blocks = false;
    for (int id = begin_; id < end; ++id)
      for (int k = 0; k < graph_[id].operands && kind_[id] == Kind::behind; ++k) leaves[buffers_.owner[graph_[id].operand[k]]] = true;
    long all = 0, kept = 0;
    for (int id = begin_; id < end; ++id) {
      if (kind_[id] != Kind::block && kind_[id] != Kind::sum) continue;
      blocks |= from_.layouts.row[id];
      if (kind_[id] == Kind::sum || graph_[id].op->view) continue;
      all += graph_[id].type.bytes(1);
      if (leaves[id] || last_use_[id] >= end) kept += graph_[id].type.bytes(1);
    }
    return blocks && 2 * kept < all && all <= most_per_sample;
  }
  constexpr void emit(int id, int stage) {
    const int to = position_[id] = result_.graph.count++;
    Node& node = result_.graph[to];
    node = graph_[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = position_[node.operand[k]];
    result_.layouts.row[to] = from_.layouts.row[id], result_.layouts.value[to] = from_.layouts.value[id];
    result_.stages.of[to] = stage, result_.stages.sums[to] = stage && kind_[id] == Kind::sum;
  }
  // Ends the stage before node `end`.
  constexpr void close(int end) {
    Stages<M>& stages = result_.stages;
    if (!pays(end)) {
      for (int id = begin_; id < end; ++id) emit(id, 0);
    } else {
      const int stage = ++stages.count;
      for (int id = begin_; id < end; ++id)
        if (kind_[id] == Kind::before) emit(id, 0);
      stages.first[stage] = result_.graph.count;
      for (int id = begin_; id < end; ++id)
        if (kind_[id] == Kind::block || kind_[id] == Kind::sum) emit(id, stage);
      stages.last[stage] = result_.graph.count - 1;
      for (int id = begin_; id < end; ++id)
        if (kind_[id] == Kind::behind) emit(id, 0);
    }
    begin_ = end;
  }

  const LaidOut<M>& from_;
  const Graph<M>& graph_;
  const Buffers<M> buffers_;
  Staged<M> result_{};
  Kind kind_[M + 1]{};
  int position_[M + 1]{}, begin_ = 0;
  int last_use_[M + 1]{};                 // of each buffer
  int read_[M + 1]{}, written_[M + 1]{};  // of each buffer, 1 + the last node of the stage or behind it
};
}  // namespace detail

/// Moves the nodes that work sample by sample, and sums over the batch of images, into stages. All other nodes keep their order;
/// where no stage pays, everything stays. O(nodes).
template <int M>
constexpr Staged<M> make_stages(const LaidOut<M>& from) {
  return detail::StageMaker<M>(from).make();
}

}  // namespace tenon
