// Stages: nodes that can run for one block of samples after the other are put side by side.
#pragma once
#include <tenon/graph/buffers.hpp>
#include <tenon/graph/pass/layout.hpp>
#include <tenon/graph/stages.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// What becomes of a node: it runs before the stage around it or behind it, for the whole batch, or in it.
enum class StagePart : signed char { before, block, sum, behind };

/// The stages of a graph that pay: from which node of it to which they take theirs.
template <int N>
struct StageChoice {
  StagePart part[N + 1]{};
  int begin[N + 1]{}, end[N + 1]{};
  int count = 0;
};

namespace detail {
// What a stage reads again for every block, such as a weight, has to stay in the cache beside the block's values: no
// more bytes than this.
inline constexpr long most_read_again = 256 << 10;
// A sum over the batch is added up once per block: no more bytes than this.
inline constexpr long most_summed = 64 << 10;
// The values of a block: no more bytes per sample than this, or they do not stay in any cache.
inline constexpr long most_per_sample = 256 << 10;

/// Looks for the nodes of one stage after the other. Between the first node of a stage and its last there can be nodes
/// that need the whole batch. Those that need nothing of the stage run before it, the others behind it; a node of
/// blocks that needs one of the others begins the next stage.
template <int N>
class StageFinder {
 public:
  constexpr StageFinder(const Graph<N>& graph, const Layouts<N>& layouts)
      : graph_(graph), layouts_(layouts), buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph.count; ++id)
      for (int k = 0; k < graph[id].operands; ++k) last_use_[buffers_.owner[graph[id].operand[k]]] = id;
    for (int k = 0; k < graph.outputs; ++k) last_use_[buffers_.owner[graph.output[k]]] = graph.count;
  }

  constexpr StageChoice<N> find() {
    for (int id = 0; id < graph_.count; ++id) {
      const StagePart part = part_of(id);
      if (part == StagePart::before) {
        if (waits(id)) at(id) = StagePart::behind;
      } else {
        if (needs_behind(id)) close(id);
        at(id) = part;
      }
      note(id);
    }
    close(graph_.count);
    return choice_;
  }

 private:
  constexpr StagePart& at(int id) { return choice_.part[id]; }
  constexpr StagePart part(int id) const { return choice_.part[id]; }
  constexpr bool fits(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k)
      if (const TensorType& t = graph_[graph_[id].operand[k]].type; !t.batched() && t.bytes(1) > most_read_again)
        return false;
    return true;
  }
  constexpr bool is_sum(int id) const {
    const Node& node = graph_[id];
    if (!node.op->block_sums || node.type.batched() || node.type.bytes(1) > most_summed) return false;
    TensorType operand[max_operands]{};
    for (int k = 0; k < node.operands; ++k) operand[k] = graph_[node.operand[k]].type;
    return rules_of(node.op).fits_blocks(node.type, operand, node.operands);
  }
  constexpr StagePart part_of(int id) const {
    const Node& node = graph_[id];
    if (node.op->leaf || node.op->effect) return StagePart::before;
    if (node.op->view) return node.type.batched() && in_stage(node.operand[0]) ? StagePart::block : StagePart::before;
    if (node.op->per_sample && node.type.batched())
      return fits(id) && !makes_indices(id) ? StagePart::block : StagePart::before;
    return is_sum(id) && fits(id) ? StagePart::sum : StagePart::before;
  }
  // True if an operand that may hold indices, which are looked at for the whole batch, is made in the stage.
  constexpr bool makes_indices(int id) const {
    for (int k = 0; graph_[id].op->indices && k < graph_[id].operands; ++k)
      if (const int operand = graph_[id].operand[k]; !is_floating(graph_[operand].type.dtype) && in_stage(operand))
        return true;
    return false;
  }
  constexpr bool in_stage(int id) const { return id >= begin_ && part(id) == StagePart::block; }
  // True if an operand is there, or has changed, only when the stage is over.
  constexpr bool needs_behind(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int operand = graph_[id].operand[k];
      if (operand >= begin_ && (part(operand) == StagePart::behind || part(operand) == StagePart::sum)) return true;
      if (written_[buffers_.owner[operand]] > begin_) return true;
    }
    return false;
  }
  // True if a node for the whole batch has to run behind the stage.
  constexpr bool waits(int id) const {
    if (needs_behind(id)) return true;
    for (int k = 0; k < graph_[id].operands; ++k)
      if (in_stage(graph_[id].operand[k]) ||
          (writes(graph_, buffers_, graph_[id], k) && read_[buffers_.owner[graph_[id].operand[k]]] > begin_))
        return true;
    return false;
  }
  constexpr void note(int id) {
    if (part(id) == StagePart::before) return;
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int owner = buffers_.owner[graph_[id].operand[k]];
      read_[owner] = id + 1;
      if (part(id) == StagePart::behind) used_behind_[owner] = id + 1;
      if (writes(graph_, buffers_, graph_[id], k)) written_[owner] = id + 1;
    }
  }

  // True if it pays to run the nodes of the stage block by block: some are for images in blocks, and most of what they
  // compute nothing else needs.
  constexpr bool pays(int end) const {
    bool blocks = false;
    long all = 0, kept = 0;
    for (int id = begin_; id < end; ++id) {
      if (part(id) != StagePart::block && part(id) != StagePart::sum) continue;
      blocks |= layouts_.row[id];
      if (part(id) == StagePart::sum || graph_[id].op->view) continue;
      all += graph_[id].type.bytes(1);
      if (used_behind_[id] > begin_ || last_use_[id] >= end) kept += graph_[id].type.bytes(1);
    }
    return blocks && 2 * kept < all && all <= most_per_sample;
  }
  // Ends the stage before node `end`.
  constexpr void close(int end) {
    if (pays(end)) choice_.begin[choice_.count] = begin_, choice_.end[choice_.count++] = end;
    begin_ = end;
  }

  const Graph<N>& graph_;
  const Layouts<N>& layouts_;
  const Buffers<N> buffers_;
  StageChoice<N> choice_{};
  int begin_ = 0;
  int last_use_[N + 1]{};  // of each buffer
  // of each buffer, 1 + the last node of the stage or behind it that does so
  int read_[N + 1]{}, written_[N + 1]{}, used_behind_[N + 1]{};
};
}  // namespace detail

/// Finds the nodes that work sample by sample, and sums over the batch of images, that are better off in a stage.
/// O(nodes).
template <int N>
constexpr StageChoice<N> choose_stages(const Graph<N>& graph, const Layouts<N>& layouts) {
  return detail::StageFinder<N>(graph, layouts).find();
}

/// A graph with its layouts and stages.
template <int N>
struct Staged {
  Graph<N> graph{};
  Layouts<N> layouts{};
  Stages<N> stages{};
};

/// Puts the nodes of each stage side by side. All other nodes keep their order. O(nodes).
template <int N>
constexpr Staged<N> make_stages(const Graph<N>& graph, const Layouts<N>& layouts, const StageChoice<N>& choice) {
  Staged<N> result{graph, layouts, {}};
  int position[N + 1]{}, count = 0;
  const auto emit = [&](int id, int stage) {
    const int to = position[id] = count++;
    Node& node = result.graph[to] = graph[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = position[node.operand[k]];
    result.layouts.row[to] = layouts.row[id], result.layouts.value[to] = layouts.value[id];
    result.stages.of[to] = short(stage), result.stages.sums[to] = stage && choice.part[id] == StagePart::sum;
  };
  int id = 0;
  for (int c = 0; c <= choice.count; ++c) {
    const int begin = c < choice.count ? choice.begin[c] : graph.count,
              end = c < choice.count ? choice.end[c] : graph.count;
    while (id < begin) emit(id++, 0);
    if (begin == end) break;
    for (id = begin; id < end; ++id)
      if (choice.part[id] == StagePart::before) emit(id, 0);
    const int stage = ++result.stages.count;
    for (id = begin; id < end; ++id)
      if (choice.part[id] == StagePart::block || choice.part[id] == StagePart::sum) emit(id, stage);
    for (id = begin; id < end; ++id)
      if (choice.part[id] == StagePart::behind) emit(id, 0);
  }
  for (int k = 0; k < graph.outputs; ++k) result.graph.output[k] = position[graph.output[k]];
  return result;
}

}  // namespace tenon
TENON_INT_SIZES_END
