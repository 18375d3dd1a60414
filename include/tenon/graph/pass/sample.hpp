// Which nodes become a kernel per sample, and the kernel of the sums and updates after it (target/per_sample.hpp).
#pragma once
#include <tenon/graph/ir/guard.hpp>
#include <tenon/graph/pass/tile.hpp>
#include <tenon/graph/plan/sample_memory.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Columns of the batch that the kernels of a group can read.
inline constexpr int most_sample_inputs = 4;

namespace detail {
/// Looks for the nodes of the group. What other nodes need of the batch's samples is computed before it, so that the
/// group is an end of what is computed sample by sample. Sums and updates that need nothing else are part of it; all
/// other nodes that need something of it come after it.
template <int N>
class SampleFinder {
 public:
  constexpr SampleFinder(const Graph<N>& graph, const SampleRoles<N>& roles)
      : graph_(graph), can_(roles), buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph.count; ++id)
      for (int k = 0; k < reads(graph[id]) && !graph[id].op->view; ++k) ++readers_[owner(graph[id].operand[k])];
    for (int k = 0; k < graph.outputs; ++k) readers_[buffers_.owner[graph.output[k]]] += 2;
    find_needed();
  }

  /// `most_bytes`: of the fast memory.
  constexpr GroupChoice<N> find(long most_bytes) {
    for (int id = 0; id < graph_.count; ++id) {
      at(id) = part_of(id);
      note(id);
    }
    if (!pays(most_bytes)) return {};
    choice_.count = 1, choice_.end[0] = graph_.count;
    return choice_;
  }

 private:
  constexpr GroupPart& at(int id) { return choice_.part[id]; }
  constexpr GroupPart part(int id) const { return choice_.part[id]; }
  constexpr int owner(int id) const { return buffers_.owner[id]; }
  constexpr bool calls(int id) const { return !graph_[id].op->leaf && !graph_[id].op->view && !graph_[id].op->part; }
  // Values that depend on n and that calls outside of the group need.
  constexpr void find_needed() {
    for (int id = graph_.count; id-- > 0;) {
      const Node& node = graph_[id];
      const bool is_outside = calls(id) && node.type.batched() && can_.of[id] != SampleRole::sample;
      if (needed_[id] || is_outside || node.op->host_effect)
        for (int k = 0; k < node.operands; ++k) needed_[node.operand[k]] = true;
      if (needed_[id] && node.op->part) needed_[node.operand[0]] = true;
    }
  }
  // True if the kernels cannot find a column, the host has to look at computed indices, or a flag keeps the call back.
  constexpr bool has_other_operands(int id) const {
    const Node& node = graph_[id];
    for (int k = 0; k < node.operands; ++k) {
      const Node& from = graph_[owner(node.operand[k])];
      if (is<ops::Input>(from) && from.immediate >= std::uint64_t(most_sample_inputs)) return true;
      if (node.op->indices && !is_floating(from.type.dtype) && !is<ops::Input>(from)) return true;
    }
    return guarded(graph_, node);
  }
  struct Reads {
    bool tile = false, sum = false, behind = false;
  };
  constexpr Reads reads_of(int id) const {
    Reads r;
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int operand = graph_[id].operand[k];
      r.tile |= part(operand) == GroupPart::tile;
      r.sum |= part(operand) == GroupPart::sum;
      r.behind |= part(operand) == GroupPart::behind || written_[owner(operand)];
    }
    return r;
  }
  // True if the node may write a buffer before all nodes that come after the group, and, `alone`, beside its others.
  constexpr bool may_write(int id, bool alone) const {
    for (int k = 0; k < graph_[id].operands; ++k)
      if (const int buffer = owner(graph_[id].operand[k]); writes(graph_, buffers_, graph_[id], k))
        if (read_behind_[buffer] || written_[buffer] || (alone ? read_by_sum_[buffer] : read_in_group_[buffer]))
          return false;
    return true;
  }
  // True if operand 1 of an update is the sum that it alone reads.
  constexpr bool updates_by_sum(int id) const {
    const Node& node = graph_[id];
    const int gradient = owner(node.operand[1]);
    if (part(gradient) != GroupPart::sum || graph_[gradient].op->effect || readers_[gradient] != 1) return false;
    for (int k = 0; k < node.operands; ++k)
      if (k != 1 && part(node.operand[k]) != GroupPart::before) return false;
    return true;
  }
  constexpr GroupPart part_of(int id) const {
    const Node& node = graph_[id];
    const Reads r = reads_of(id);
    if (node.op->leaf) return GroupPart::before;
    if (node.op->view || node.op->part) {
      for (int k = 1; k < node.operands; ++k)
        if (part(node.operand[k]) != GroupPart::before) return GroupPart::behind;
      return part(node.operand[0]);
    }
    const SampleRole can = r.behind || has_other_operands(id) ? SampleRole::none : can_.of[id];
    if (can == SampleRole::sample && !r.sum && !needed_[id]) return GroupPart::tile;
    if (can == SampleRole::update)
      return updates_by_sum(id) && may_write(id, true) ? GroupPart::sum : after_or_before(id, r);
    if ((can == SampleRole::part || can == SampleRole::batch) && r.tile && !r.sum && may_write(id, true))
      return GroupPart::sum;
    return after_or_before(id, r);
  }
  constexpr GroupPart after_or_before(int id, const Reads& r) const {
    const bool waits = r.tile || r.sum || r.behind || !may_write(id, false);
    return waits || (graph_[id].op->host_effect && told_behind_) ? GroupPart::behind : GroupPart::before;
  }
  constexpr void note(int id) {
    const GroupPart own = part(id);
    if (own == GroupPart::before || !calls(id)) return;
    if (own == GroupPart::behind && graph_[id].op->host_effect) told_behind_ = true;
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int buffer = owner(graph_[id].operand[k]);
      if (own == GroupPart::behind) read_behind_[buffer] = true;
      else read_in_group_[buffer] = true;
      if (own == GroupPart::sum) read_by_sum_[buffer] = true;
      if (writes(graph_, buffers_, graph_[id], k)) written_[buffer] = true;
    }
  }

  // True if the group has most of the calls whose results depend on n, and its values fit.
  constexpr bool pays(long most_bytes) const {
    SampleRoles<N> own;
    int inside = 0, all = 0, steps = 0;
    for (int id = 0; id < graph_.count; ++id) {
      if (!calls(id)) continue;
      const bool in_group = part(id) == GroupPart::tile || part(id) == GroupPart::sum;
      own.of[id] = in_group ? can_.of[id] : SampleRole::none;
      steps += own.is_step(id);
      if (!graph_[id].type.batched()) continue;
      all += 1, inside += in_group;
    }
    if (inside < 2 || 2 * inside < all || steps > most_sample_steps) return false;
    return place_samples(graph_, own).bytes <= most_bytes;
  }

  const Graph<N>& graph_;
  const SampleRoles<N>& can_;
  const Buffers<N> buffers_;
  GroupChoice<N> choice_{};
  bool needed_[N + 1]{}, told_behind_ = false;
  int readers_[N + 1]{};  // of each buffer; more than one for an output
  // of each buffer, whether nodes of the group or after it do so
  bool read_behind_[N + 1]{}, read_in_group_[N + 1]{}, read_by_sum_[N + 1]{}, written_[N + 1]{};
};
}  // namespace detail

/// The group of nodes that a target can compute by a kernel per sample and one for the batch. `roles`: what it can do
/// with each call. `most_bytes`: of fast memory for the values of a sample. O(nodes + steps^2).
template <int N>
constexpr GroupChoice<N> choose_samples(const Graph<N>& graph, const SampleRoles<N>& roles, long most_bytes) {
  return detail::SampleFinder<N>(graph, roles).find(most_bytes);
}

}  // namespace tenon
TENON_INT_SIZES_END
