// The plan: where in scratch memory every value of a graph is, for every batch size, as constants.
#pragma once
#include <tenon/core/memory/arena.hpp>
#include <tenon/graph/ir/structure.hpp>
#include <tenon/graph/plan/buffers.hpp>
#include <tenon/graph/plan/tiled_groups.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// The memory a value can be in. Scratch memory has three regions: `sample` for values that grow with the batch, whose
/// offsets count per sample, `fixed` for those that do not, and `tile` for values of a group that nothing else reads:
/// each thread has one, for the samples of one tile.
enum class Region : signed char { none = -1, sample, fixed, tile, parameters, state, input, constant };
inline constexpr int regions = 7, scratch_regions = 3;

/// The address of a value: base + offset, in region sample base + offset * n. A fixed value can stand above what the
/// batch needs at its time: base + offset + lift * n.
struct BufferPlace {
  Region region = Region::none;
  long lift = 0;
  long offset = 0;
  constexpr BufferPlace() = default;
  constexpr BufferPlace(Region where, long bytes) : region(where), offset(bytes) {}
};

/// First and last moment at which each buffer is alive, and its region; views and effects share the buffer of their
/// operand 0, and a Part is alive from the call on that makes it.
template <int N>
struct Lifetimes {
  int first[N + 1]{}, last[N + 1]{};
  int root[N + 1]{};
  Region region[N + 1]{};  // of nodes that own scratch memory
};
namespace detail {
constexpr Region scratch_region(const TensorType& t) { return t.batched() ? Region::sample : Region::fixed; }
}
namespace detail {
// A result stands in the place of an operand that nothing else reads after it, if the kernel can do that.
template <int N>
constexpr void share_buffers(const Graph<N>& graph, Lifetimes<N>& l) {
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    if (l.root[id] != id) {
      l.root[id] = l.root[l.root[id]];
      continue;
    }
    for (int k = 0; node.op->kernel.in_place && k < node.operands && l.root[id] == id; ++k) {
      const int root = l.root[node.operand[k]];
      if (l.region[root] != l.region[id] || l.last[root] != id || !(graph[node.operand[k]].type == node.type)) continue;
      l.root[id] = root, l.last[root] = l.last[id], l.region[id] = Region::none;
    }
  }
}
}  // namespace detail
/// A group runs once per tile: what it reads is read to its end, and what it writes is written from its begin on,
/// unless a value is of one tile. In a whole group all values are alive together. `rest`: the moments for which memory
/// that is free again is left alone.
template <int N>
constexpr Lifetimes<N> lifetimes(const Graph<N>& graph, const TiledGroups<N>& groups = {}, bool in_place = false,
                                 int rest = 0) {
  Lifetimes<N> l;
  const Buffers<N> buffers = buffers_of(graph);
  for (int id = 0; id < graph.count; ++id) {
    l.root[id] = buffers.owner[id];
    l.first[id] = l.last[id] = id;
    l.region[id] = graph[id].op->leaf || l.root[id] != id ? Region::none : detail::scratch_region(graph[id].type);
    if (graph[id].op->part) l.first[id] = graph[id].operand[0];
    for (int k = 0; k < reads(graph[id]); ++k) l.last[l.root[graph[id].operand[k]]] = id;
  }
  for (int k = 0; k < graph.outputs; ++k) l.last[l.root[graph.output[k]]] = graph.count;
  if (in_place) detail::share_buffers(graph, l);
  int first[N + 1]{}, last[N + 1]{};  // nodes of each group
  for (int id = 0; id < graph.count; ++id) {
    const int group = groups.of[id];
    if (group) last[group] = id;
    if (group && !first[group]) first[group] = id;
  }
  for (int id = 0; id < graph.count; ++id) {
    const int own = groups.of[maker(graph, id)], reader = groups.of[l.last[id]];
    if (own && own == reader && !groups.whole && l.region[id] == Region::sample) l.region[id] = Region::tile;
    else {
      if (own) l.first[id] = first[own];
      if (reader) l.last[id] = last[reader];
      if (own && groups.whole && l.last[id] < last[own]) l.last[id] = last[own];
    }
    if (rest) l.last[id] = l.last[id] + rest < graph.count ? l.last[id] + rest : graph.count;
  }
  return l;
}

/// Scratch memory of per_sample * n + fixed bytes.
struct ScratchSize {
  long per_sample = 0, fixed = 0;
  constexpr long bytes(long n) const { return per_sample * n + fixed; }
};

template <int N>
struct Plan {
  BufferPlace at[N + 1]{};
  long size[scratch_regions]{};   // bytes of region sample (per sample), fixed, and tile (per sample), each for itself
  long bound[scratch_regions]{};  // bytes alive at the worst moment: no plan without recomputation is smaller
  long floor = 0;                 // bytes below region sample
  ScratchSize need[N + 2]{};      // the scratch memory is the largest of these, and the tile's after it
  int needs = 0;

  /// Bytes of scratch for a batch of n on one thread, without kernel workspaces.
  constexpr long bytes(long n) const {
    long most = 0;
    for (int i = 0; i < needs; ++i) most = need[i].bytes(n) > most ? need[i].bytes(n) : most;
    return most + size[int(Region::tile)] * tile_of(n);
  }
  constexpr void add_need(const ScratchSize& more) {
    for (int i = 0; i < needs; ++i)
      if (need[i].per_sample >= more.per_sample && need[i].fixed >= more.fixed) return;
    need[needs++] = more;
  }
};

namespace detail {

constexpr long buffer_bytes(const TensorType& t) { return aligned(t.bytes(1)); }

// True for nodes that own a buffer in the region.
template <int N>
constexpr bool owns(const Lifetimes<N>& lives, int id, Region region) {
  return lives.root[id] == id && lives.region[id] == region;
}

// The moment at which the values of a region take the most memory, and their bytes.
struct Fullest {
  int moment = 0;
  long bytes = 0;
};
template <int N>
constexpr Fullest fullest(const Graph<N>& graph, const Lifetimes<N>& lives, Region region) {
  long change[N + 2]{}, live = 0;
  for (int id = 0; id < graph.count; ++id) {
    if (!owns(lives, id, region)) continue;
    change[lives.first[id]] += buffer_bytes(graph[id].type);
    change[lives.last[id] + 1] -= buffer_bytes(graph[id].type);
  }
  Fullest worst;
  for (int moment = 0; moment < graph.count; ++moment)
    if (live += change[moment]; live > worst.bytes) worst = {moment, live};
  return worst;
}

// The nodes by the moment at which their life begins (or ends), each moment's nodes in order, numbered from 1.
template <int N>
struct Moments {
  int head[N + 2]{}, next[N + 1]{};
};
template <int N>
constexpr Moments<N> births(const Graph<N>& graph, const Lifetimes<N>& lives) {
  Moments<N> at;
  for (int id = graph.count; id-- > 0;) at.next[id] = at.head[lives.first[id]], at.head[lives.first[id]] = id + 1;
  return at;
}

}  // namespace detail

/// Gives leaves and views their places. Parameters and states come with their offsets in `immediate`.
template <int N>
constexpr Plan<N> place_rest(const Graph<N>& graph, const Lifetimes<N>& lives, Plan<N> plan, const Entry* entries) {
  int constants = 0;
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    if (is<ops::Input>(node)) plan.at[id] = {Region::input, long(node.immediate)};
    else if (is<ops::ParameterLeaf>(node)) plan.at[id] = {Region::parameters, entries[node.immediate].offset};
    else if (is<ops::StateLeaf>(node)) plan.at[id] = {Region::state, long(node.immediate)};
    else if (is<ops::Constant>(node)) plan.at[id] = {Region::constant, 8 * constants++};
    else if (lives.root[id] != id) plan.at[id] = plan.at[lives.root[id]];
  }
  return plan;
}

/// Bytes alive at the worst moment for a batch of n on one thread, all regions together.
template <int N>
constexpr long joint_bound(const Graph<N>& graph, const Lifetimes<N>& lives, long n) {
  const long samples[scratch_regions]{n, 1, tile_of(n)};
  long live = 0, worst = 0, change[N + 2]{};  // by births and deaths
  for (int id = 0; id < graph.count; ++id) {
    if (lives.region[id] == Region::none) continue;
    const long size = detail::buffer_bytes(graph[id].type) * samples[int(lives.region[id])];
    change[lives.first[id]] += size;
    if (lives.last[id] < graph.count) change[lives.last[id] + 1] -= size;
  }
  for (int moment = 0; moment < graph.count; ++moment) {
    live += change[moment];
    if (live > worst) worst = live;
  }
  return worst;
}

}  // namespace tenon
TENON_INT_SIZES_END
