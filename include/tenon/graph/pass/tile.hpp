// Tiling: nodes that can run for one tile of samples after the other are put side by side.
#pragma once
#include <tenon/graph/pass/layout.hpp>
#include <tenon/graph/plan/buffers.hpp>
#include <tenon/graph/plan/tiled_groups.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// What becomes of a node: it runs before the group around it or after it, for the whole batch, or in it.
enum class GroupPart : signed char { before, tile, sum, behind };

/// The groups of a graph that pay: from which node of it to which they take theirs.
template <int N>
struct GroupChoice {
  GroupPart part[N + 1]{};
  int begin[N + 1]{}, end[N + 1]{};
  int count = 0;
};

namespace detail {
// What a group reads again for every tile, such as a weight, has to stay in the cache beside the tile's values: no
// more bytes than this.
inline constexpr long most_read_again = 256 << 10;
// A sum over the batch is added up once per tile: no more bytes than this.
inline constexpr long most_summed = 64 << 10;
// The values of a tile: no more bytes per sample than this, or they do not stay in any cache.
inline constexpr long most_per_sample = 256 << 10;

/// Looks for the nodes of one group after the other. Between the first node of a group and its last there can be nodes
/// that need the whole batch. Those that need nothing of the group run before it, the others after it; a node
/// that works tile by tile and needs one of these begins the next group.
template <int N>
class GroupFinder {
 public:
  constexpr GroupFinder(const Graph<N>& graph, const Layouts<N>& layouts)
      : graph_(graph), layouts_(layouts), buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph.count; ++id)
      for (int k = 0; k < reads(graph[id]); ++k) last_use_[buffers_.owner[graph[id].operand[k]]] = id;
    for (int k = 0; k < graph.outputs; ++k) last_use_[buffers_.owner[graph.output[k]]] = graph.count;
  }

  constexpr GroupChoice<N> find() {
    for (int id = 0; id < graph_.count; ++id) {
      const GroupPart part = part_of(id);
      if (part == GroupPart::before) {
        if (waits(id)) at(id) = GroupPart::behind;
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
  constexpr GroupPart& at(int id) { return choice_.part[id]; }
  constexpr GroupPart part(int id) const { return choice_.part[id]; }
  constexpr bool fits(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k)
      if (const TensorType& t = graph_[graph_[id].operand[k]].type; !t.batched() && t.bytes(1) > most_read_again)
        return false;
    return true;
  }
  constexpr bool is_sum(int id) const {
    const Node& node = graph_[id];
    if (!node.op->kernel.tile_sums || node.type.batched() || node.type.bytes(1) > most_summed) return false;
    TensorType operand[max_operands]{};
    for (int k = 0; k < node.operands; ++k) operand[k] = graph_[node.operand[k]].type;
    return rules_of(node.op).fits_nchw16n(node.type, operand, node.operands);
  }
  constexpr GroupPart part_of(int id) const {
    const Node& node = graph_[id];
    if (node.op->leaf || node.op->effect) return GroupPart::before;
    if (node.op->view || node.op->part)
      return node.type.batched() && in_group(node.operand[0]) ? GroupPart::tile : GroupPart::before;
    if (node.op->per_sample && node.type.batched())
      return fits(id) && !makes_indices(id) ? GroupPart::tile : GroupPart::before;
    return is_sum(id) && fits(id) ? GroupPart::sum : GroupPart::before;
  }
  // True if an operand that may hold indices, which are looked at for the whole batch, is made in the group.
  constexpr bool makes_indices(int id) const {
    for (int k = 0; graph_[id].op->indices && k < graph_[id].operands; ++k)
      if (const int operand = graph_[id].operand[k]; !is_floating(graph_[operand].type.dtype) && in_group(operand))
        return true;
    return false;
  }
  constexpr bool in_group(int id) const { return id >= begin_ && part(id) == GroupPart::tile; }
  // True if an operand is there, or has changed, only when the group is over.
  constexpr bool needs_behind(int id) const {
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int operand = graph_[id].operand[k];
      if (operand >= begin_ && (part(operand) == GroupPart::behind || part(operand) == GroupPart::sum)) return true;
      if (written_[buffers_.owner[operand]] > begin_) return true;
    }
    return false;
  }
  // True if a node for the whole batch has to run after the group.
  constexpr bool waits(int id) const {
    if (needs_behind(id) || (graph_[id].op->host_effect && told_behind_ > begin_)) return true;
    for (int k = 0; k < graph_[id].operands; ++k)
      if (in_group(graph_[id].operand[k]) ||
          (writes(graph_, buffers_, graph_[id], k) && read_[buffers_.owner[graph_[id].operand[k]]] > begin_))
        return true;
    return false;
  }
  constexpr void note(int id) {
    if (part(id) == GroupPart::before) return;
    if (graph_[id].op->host_effect) told_behind_ = id + 1;
    for (int k = 0; k < graph_[id].operands; ++k) {
      const int owner = buffers_.owner[graph_[id].operand[k]];
      read_[owner] = id + 1;
      if (part(id) == GroupPart::behind) used_behind_[owner] = id + 1;
      if (writes(graph_, buffers_, graph_[id], k)) written_[owner] = id + 1;
    }
  }

  // True if it pays to run the nodes of the group tile by tile: some are for NCHW16n images, and most of what they
  // compute nothing else needs.
  constexpr bool pays(int end) const {
    bool nchw16n = false;
    long all = 0, kept = 0;
    for (int id = begin_; id < end; ++id) {
      if (part(id) != GroupPart::tile && part(id) != GroupPart::sum) continue;
      nchw16n |= layouts_.kernel[id];
      if (part(id) == GroupPart::sum || graph_[id].op->view) continue;
      all += graph_[id].type.bytes(1);
      if (used_behind_[id] > begin_ || last_use_[id] >= end) kept += graph_[id].type.bytes(1);
    }
    return nchw16n && 2 * kept < all && all <= most_per_sample;
  }
  // Ends the group before node `end`.
  constexpr void close(int end) {
    if (pays(end)) choice_.begin[choice_.count] = begin_, choice_.end[choice_.count++] = end;
    begin_ = end;
  }

  const Graph<N>& graph_;
  const Layouts<N>& layouts_;
  const Buffers<N> buffers_;
  GroupChoice<N> choice_{};
  int begin_ = 0;
  int told_behind_ = 0;    // 1 + the last effect on the host after the group: later ones wait, too
  int last_use_[N + 1]{};  // of each buffer
  // of each buffer, 1 + the last node of the group or after it that does so
  int read_[N + 1]{}, written_[N + 1]{}, used_behind_[N + 1]{};
};
}  // namespace detail

/// Finds the nodes that work sample by sample, and sums over the batch of images, that are better off in a group.
/// O(nodes).
template <int N>
constexpr GroupChoice<N> choose_groups(const Graph<N>& graph, const Layouts<N>& layouts) {
  return detail::GroupFinder<N>(graph, layouts).find();
}

/// A graph with its layouts and groups.
template <int N>
struct Tiled {
  Graph<N> graph{};
  Layouts<N> layouts{};
  TiledGroups<N> groups{};
};

/// Puts the nodes of each group side by side. All other nodes keep their order. O(nodes).
template <int N>
constexpr Tiled<N> tile_groups(const Graph<N>& graph, const Layouts<N>& layouts, const GroupChoice<N>& choice) {
  Tiled<N> result{graph, layouts, {}};
  int position[N + 1]{}, count = 0;
  const auto emit = [&](int id, int group) {
    const int to = position[id] = count++;
    Node& node = result.graph[to] = graph[id];
    for (int k = 0; k < node.operands; ++k) node.operand[k] = position[node.operand[k]];
    result.layouts.kernel[to] = layouts.kernel[id], result.layouts.value[to] = layouts.value[id];
    result.groups.of[to] = short(group), result.groups.sums[to] = group && choice.part[id] == GroupPart::sum;
  };
  int id = 0;
  for (int c = 0; c <= choice.count; ++c) {
    const int begin = c < choice.count ? choice.begin[c] : graph.count,
              end = c < choice.count ? choice.end[c] : graph.count;
    while (id < begin) emit(id++, 0);
    if (begin == end) break;
    for (id = begin; id < end; ++id)
      if (choice.part[id] == GroupPart::before) emit(id, 0);
    const int group = ++result.groups.count;
    for (id = begin; id < end; ++id)
      if (choice.part[id] == GroupPart::tile || choice.part[id] == GroupPart::sum) emit(id, group);
    for (id = begin; id < end; ++id)
      if (choice.part[id] == GroupPart::behind) emit(id, 0);
  }
  for (int k = 0; k < graph.outputs; ++k) result.graph.output[k] = position[graph.output[k]];
  return result;
}

}  // namespace tenon
TENON_INT_SIZES_END
