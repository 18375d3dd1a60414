// Rematerialisation: what is cheap to compute again is not kept while memory is fullest.
#pragma once
#include <tenon/graph/plan/plan.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
/// Finds the nodes that are computed a second time, and puts the second ones before their first readers.
template <int N>
class Rematerialiser {
 public:
  constexpr explicit Rematerialiser(const Graph<N>& graph)
      : graph_(graph), lives_(lifetimes(graph)), full_(fullest(graph, lives_, Region::sample)) {}

  constexpr Graph<N> run() {
    find_readers();
    int room = N - graph_.count;
    for (int id = 0; id < full_.moment; ++id)
      if (again_[id] = next_[id] && is_cheap(id) && operands_there(id, next_[id]); again_[id]) --room;
    for (int id = 0; id < graph_.count; ++id) room -= helps_[id] && !again_[id];
    if (room < 0 || room == N - graph_.count) return graph_;
    emit_all();
    return fullest(result_, lifetimes(result_), Region::sample).bytes < full_.bytes ? result_ : graph_;
  }

 private:
  // Fills next_, and changed_: what is seen through a view from before has no place of its own for a second value.
  constexpr void find_readers() {
    const Buffers<N> buffers = buffers_of(graph_);
    for (int id = graph_.count; id-- > 0;)
      for (int k = 0; k < graph_[id].operands; ++k) {
        const int operand = graph_[id].operand[k], owner = buffers.owner[operand];
        if (id > full_.moment) next_[operand] = id;
        if (id > full_.moment && operand != owner && operand <= full_.moment) kept_[owner] = true;
        if (!writes(graph_, buffers, graph_[id], k)) continue;
        if (!changed_[owner]) changed_[owner] = id;
        first_change_[owner] = id;
      }
    for (int k = 0; k < graph_.outputs; ++k) kept_[buffers.owner[graph_.output[k]]] = true;
  }
  constexpr bool is_cheap(int id) const {
    return graph_[id].op->kernel.cheap && !graph_[id].parts && lives_.region[id] == Region::sample && !kept_[id] &&
           !changed_[id];
  }
  // True if node `id` can be computed again at a moment: what it reads is as it was, alive, or computed again as well.
  constexpr bool operands_there(int id, int moment) {
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int operand = graph_[id].operand[k], owner = lives_.root[operand];
      if (changed_[owner] > id && first_change_[owner] < moment) return false;  // else at most an update after both
      if (graph_[owner].op->leaf || again_[operand] || lives_.last[owner] >= moment) continue;
      if (!is_cheap(operand) || !operands_there(operand, moment)) return false;
      helps_[operand] = true;
    }
    return true;
  }

  constexpr int emit(int id, bool second) {
    Node node = graph_[id];
    for (int k = 0; k < node.operands; ++k) {
      const int operand = node.operand[k];
      const bool reads_second = second ? again_[operand] || helps_[operand] : again_[operand] && id > full_.moment;
      if (reads_second && !second_[operand]) second_[operand] = emit(operand, true);
      node.operand[k] = reads_second ? second_[operand] : first_[operand];
    }
    result_[result_.count] = node;
    return result_.count++;
  }
  constexpr void emit_all() {
    result_ = graph_;
    result_.count = 0;
    for (int id = 0; id < graph_.count; ++id) first_[id] = emit(id, false);
    for (int k = 0; k < graph_.outputs; ++k) result_.output[k] = first_[graph_.output[k]];
  }

  const Graph<N>& graph_;
  const Lifetimes<N> lives_;
  const Fullest full_;
  Graph<N> result_{};
  int next_[N + 1]{};     // the first reader of a node after the fullest moment; 0: none
  int changed_[N + 1]{};  // of each buffer: the last effect that writes it, and the first one
  int first_change_[N + 1]{};
  bool kept_[N + 1]{};  // buffers that a second value cannot replace
  // computed a second time: for readers after the fullest moment; for such nodes alone
  bool again_[N + 1]{}, helps_[N + 1]{};
  int first_[N + 1]{}, second_[N + 1]{};  // where a node is in the result
};
}  // namespace detail

/// Whether a node is what rematerialise() looks at.
template <int N>
constexpr bool is_cheap(const Graph<N>&, const Node& node) {
  return node.op->kernel.cheap;
}

/// Computes values again that are alive at the fullest moment and needed after it, where that takes no longer than to
/// read and write them, instead of keeping them. The second values are the same, so no bit changes. O(nodes).
template <int N>
constexpr Graph<N> rematerialise(const Graph<N>& graph) {
  return detail::Rematerialiser<N>(graph).run();
}

}  // namespace tenon
TENON_INT_SIZES_END
