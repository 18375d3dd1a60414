// Where every value of a graph lives: two regions of scratch memory, packed so tightly that they equal their bounds.
#pragma once
#include <tenon/core/arena.hpp>
#include <tenon/graph/structure.hpp>
#include <tenon/graph/leaf.hpp>

namespace tenon::inline TENON_ABI {

/// The memory a value can be in. Offsets of `sample` count per sample: the address is base + offset * n.
enum class Region : signed char { none = -1, sample, fixed, parameters, state, input, constant };
inline constexpr int regions = 6;

struct Place {
  Region region = Region::none;
  long offset = 0;
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
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    l.root[id] = node.op->view || node.op->effect ? l.root[node.operand[0]] : id;
    l.last[id] = id;
    for (int k = 0; k < node.operands; ++k) l.last[l.root[node.operand[k]]] = id;
  }
  for (int k = 0; k < graph.outputs; ++k) l.last[l.root[graph.output[k]]] = graph.count;
  return l;
}

template <int N>
struct Plan {
  Place at[N + 1]{};
  long size[2]{};   // bytes of region sample (per sample) and fixed
  long bound[2]{};  // bytes alive at the worst moment: no plan without recomputation is smaller

  /// Bytes of scratch for a batch of n, without kernel workspaces.
  constexpr long bytes(long n) const { return size[0] * n + size[1]; }
};

namespace detail {

constexpr Region scratch_region(const TensorType& t) { return t.batched() ? Region::sample : Region::fixed; }
constexpr long buffer_bytes(const TensorType& t) { return aligned(t.bytes(1)); }

// True for nodes that own a buffer in the region.
template <int N>
constexpr bool owns(const Graph<N>& graph, const Lifetimes<N>& lives, int id, Region region) {
  return !graph[id].op->leaf && lives.root[id] == id && scratch_region(graph[id].type) == region;
}

// The free parts of a region below its top, ordered by offset.
template <int N>
struct Holes {
  long offset[N + 1]{}, length[N + 1]{};
  int count = 0;
  long top = 0;

  constexpr void erase(int i) {
    --count;
    for (int j = i; j < count; ++j) offset[j] = offset[j + 1], length[j] = length[j + 1];
  }
  constexpr long take(long size) {
    int best = -1;
    for (int i = 0; i < count; ++i)
      if (length[i] >= size && (best < 0 || length[i] < length[best])) best = i;
    if (best < 0) {
      top += size;
      return top - size;
    }
    const long at = offset[best];
    offset[best] += size;
    length[best] -= size;
    if (!length[best]) erase(best);
    return at;
  }
  constexpr void give(long at, long size) {
    int i = 0;
    while (i < count && offset[i] < at) ++i;
    const bool joins_left = i > 0 && offset[i - 1] + length[i - 1] == at, joins_right = i < count && at + size == offset[i];
    if (joins_left && joins_right) length[i - 1] += size + length[i], erase(i);
    else if (joins_left) length[i - 1] += size;
    else if (joins_right) offset[i] = at, length[i] += size;
    else {
      for (int j = count++; j > i; --j) offset[j] = offset[j - 1], length[j] = length[j - 1];
      offset[i] = at, length[i] = size;
    }
    if (count && offset[count - 1] + length[count - 1] == top) top = offset[--count];
  }
};
}  // namespace detail

/// Places the buffers of one region in the order of time, best fit. O(nodes x holes).
template <int N>
constexpr Plan<N> place_by_time(const Graph<N>& graph, const Lifetimes<N>& lives, Plan<N> plan, Region region) {
  detail::Holes<N> holes;
  int first[N + 2]{}, next[N + 1]{};  // buffers by the moment of their death, numbered from 1
  long live = 0;
  for (int id = 0; id < graph.count; ++id) {
    if (id)
      for (int dead = first[id - 1]; dead; dead = next[dead - 1]) {
        const long size = detail::buffer_bytes(graph[dead - 1].type);
        holes.give(plan.at[dead - 1].offset, size);
        live -= size;
      }
    if (!detail::owns(graph, lives, id, region)) continue;
    const long size = detail::buffer_bytes(graph[id].type);
    plan.at[id] = {region, holes.take(size)};
    live += size;
    next[id] = first[lives.last[id]];
    first[lives.last[id]] = id + 1;
    if (holes.top > plan.size[int(region)]) plan.size[int(region)] = holes.top;
    if (live > plan.bound[int(region)]) plan.bound[int(region)] = live;
  }
  return plan;
}

/// Places the buffers of one region from the largest to the smallest, each at the tightest gap between those that live
/// at the same time. O(buffers^2); used only where the order of time misses the bound.
template <int N>
constexpr Plan<N> place_by_size(const Graph<N>& graph, const Lifetimes<N>& lives, Plan<N> plan, Region region) {
  int order[N + 1]{}, count = 0;
  for (int id = 0; id < graph.count; ++id) {
    if (!detail::owns(graph, lives, id, region)) continue;
    const long size = detail::buffer_bytes(graph[id].type);
    int at = count++;
    for (; at && detail::buffer_bytes(graph[order[at - 1]].type) < size; --at) order[at] = order[at - 1];
    order[at] = id;
  }
  int placed[N + 1]{}, done = 0;  // by offset
  long end[N + 1]{}, total = 0;
  for (int t = 0; t < count; ++t) {
    const int id = order[t];
    const long size = detail::buffer_bytes(graph[id].type);
    long from = 0, best = -1, gap = 0;
    for (int j = 0; j <= done; ++j) {
      const int other = j < done ? placed[j] : -1;
      if (other >= 0 && (lives.last[other] < id || other > lives.last[id])) continue;
      const long room = other >= 0 ? plan.at[other].offset - from : -1;
      if (other < 0 ? best < 0 : room >= size && (best < 0 || room < gap)) best = from, gap = room;
      if (other >= 0 && end[j] > from) from = end[j];
    }
    plan.at[id] = {region, best};
    int j = done++;
    for (; j && plan.at[placed[j - 1]].offset > best; --j) placed[j] = placed[j - 1], end[j] = end[j - 1];
    placed[j] = id, end[j] = best + size;
    if (best + size > total) total = best + size;
  }
  plan.size[int(region)] = total;
  return plan;
}

/// Gives leaves and views their places. Parameters and states come with their offsets in `immediate`.
template <int N>
constexpr Plan<N> place_rest(const Graph<N>& graph, const Lifetimes<N>& lives, Plan<N> plan, const Entry* entries) {
  int constants = 0;
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    if (is<ops::Input>(node)) plan.at[id] = {Region::input, long(node.immediate)};
    else if (is<ops::ParameterLeaf>(node)) plan.at[id] = {Region::parameters, entries ? entries[node.immediate].offset : 0};
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
