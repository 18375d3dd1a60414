// The plan: where in scratch memory every value of a graph is, for every batch size, as constants.
#pragma once
#include <tenon/core/arena.hpp>
#include <tenon/graph/buffers.hpp>
#include <tenon/graph/structure.hpp>

namespace tenon::inline TENON_ABI {

/// The memory a value can be in. Scratch memory has two regions: `sample` for values that grow with the batch, whose
/// offsets count per sample, and `fixed` for the others.
enum class Region : signed char { none = -1, sample, fixed, parameters, state, input, constant };
inline constexpr int regions = 6;

/// The address of a value: base + offset, in region sample base + offset * n. A fixed value can stand above what the
/// batch needs at its time: base + offset + lift * n.
struct Place {
  Region region = Region::none;
  long offset = 0, lift = 0;
};

/// First and last moment at which each buffer is alive; views and effects share the buffer of their operand 0.
template <int N>
struct Lifetimes {
  int last[N + 1]{};
  int root[N + 1]{};
};
template <int N>
constexpr Lifetimes<N> lifetimes(const Graph<N>& graph) {
  Lifetimes<N> l;
  const Buffers<N> buffers = buffers_of(graph);
  for (int id = 0; id < graph.count; ++id) {
    l.root[id] = buffers.owner[id];
    l.last[id] = id;
    for (int k = 0; k < graph[id].operands; ++k) l.last[l.root[graph[id].operand[k]]] = id;
  }
  for (int k = 0; k < graph.outputs; ++k) l.last[l.root[graph.output[k]]] = graph.count;
  return l;
}

/// Scratch memory of per_sample * n + fixed bytes.
struct ScratchSize {
  long per_sample = 0, fixed = 0;
  constexpr long bytes(long n) const { return per_sample * n + fixed; }
};

template <int N>
struct Plan {
  Place at[N + 1]{};
  long size[2]{};      // bytes of region sample (per sample) and fixed, each for itself
  long bound[2]{};     // bytes alive at the worst moment: no plan without recomputation is smaller
  long floor = 0;      // bytes below region sample
  ScratchSize need[N + 2]{};  // the scratch memory is the largest of these
  int needs = 0;

  /// Bytes of scratch for a batch of n, without kernel workspaces.
  constexpr long bytes(long n) const {
    long most = 0;
    for (int i = 0; i < needs; ++i) most = need[i].bytes(n) > most ? need[i].bytes(n) : most;
    return most;
  }
  constexpr void add_need(const ScratchSize& more) {
    for (int i = 0; i < needs; ++i)
      if (need[i].per_sample >= more.per_sample && need[i].fixed >= more.fixed) return;
    need[needs++] = more;
  }
};

namespace detail {

constexpr Region scratch_region(const TensorType& t) { return t.batched() ? Region::sample : Region::fixed; }
constexpr long buffer_bytes(const TensorType& t) { return aligned(t.bytes(1)); }

// True for nodes that own a buffer in the region.
template <int N>
constexpr bool owns(const Graph<N>& graph, const Lifetimes<N>& lives, int id, Region region) {
  return !graph[id].op->leaf && lives.root[id] == id && scratch_region(graph[id].type) == region;
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

/// Bytes alive at the worst moment for a batch of n, both regions together.
template <int N>
constexpr long joint_bound(const Graph<N>& graph, const Lifetimes<N>& lives, long n) {
  long live = 0, worst = 0, dying[N + 2]{};
  for (int id = 0; id < graph.count; ++id) {
    if (id) live -= dying[id - 1];
    if (graph[id].op->leaf || lives.root[id] != id) continue;
    const long size = detail::buffer_bytes(graph[id].type) * (graph[id].type.batched() ? n : 1);
    live += size;
    dying[lives.last[id]] += size;
    if (live > worst) worst = live;
  }
  return worst;
}

}  // namespace tenon
