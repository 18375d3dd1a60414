// Placement: which buffers of a region share memory.
#pragma once
#include <tenon/graph/plan/plan.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {

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
    const bool joins_left = i > 0 && offset[i - 1] + length[i - 1] == at,
               joins_right = i < count && at + size == offset[i];
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
  const detail::Moments<N> born = detail::births(graph, lives);
  detail::Moments<N> died;
  long live = 0;
  for (int moment = 0; moment < graph.count; ++moment) {
    if (moment)
      for (int dead = died.head[moment - 1]; dead; dead = died.next[dead - 1]) {
        const long size = detail::buffer_bytes(graph[dead - 1].type);
        holes.give(plan.at[dead - 1].offset, size);
        live -= size;
      }
    for (int id = born.head[moment] - 1; id >= 0; id = born.next[id] - 1) {
      if (!detail::owns(lives, id, region)) continue;
      const long size = detail::buffer_bytes(graph[id].type);
      plan.at[id] = {region, holes.take(size)};
      live += size;
      died.next[id] = died.head[lives.last[id]];
      died.head[lives.last[id]] = id + 1;
      if (holes.top > plan.size[int(region)]) plan.size[int(region)] = holes.top;
      if (live > plan.bound[int(region)]) plan.bound[int(region)] = live;
    }
  }
  return plan;
}

/// What comes first where buffers are placed one after the other: the longest lived of those that are alive when memory
/// is fullest, then the longest lived of the others; the largest; the one of which size times life is the largest.
enum class PlaceOrder { lifetime, size, product };

namespace detail {
template <int N>
constexpr long rank_of(const Graph<N>& graph, const Lifetimes<N>& lives, int id, PlaceOrder by, int full) {
  const long size = buffer_bytes(graph[id].type), moments = lives.last[id] - lives.first[id] + 1;
  if (by == PlaceOrder::lifetime)
    return moments + (lives.first[id] <= full && full <= lives.last[id] ? graph.count : 0);
  return by == PlaceOrder::size ? size : size * moments;
}
}  // namespace detail

/// Places the buffers of one region in an order, each at the tightest gap between those that live at the same time.
/// O(buffers^2); used where the order of time misses the bound.
template <int N>
constexpr Plan<N> place_by_size(const Graph<N>& graph, const Lifetimes<N>& lives, Plan<N> plan, Region region,
                                PlaceOrder by) {
  int order[N + 1]{}, count = 0;
  long rank[N + 1]{};
  const int full = detail::fullest(graph, lives, region).moment;
  for (int id = 0; id < graph.count; ++id) {
    if (!detail::owns(lives, id, region)) continue;
    const long own = rank[id] = detail::rank_of(graph, lives, id, by, full);
    int at = count++;
    for (; at && rank[order[at - 1]] < own; --at) order[at] = order[at - 1];
    order[at] = id;
  }
  int placed[N + 1]{}, done = 0;  // by offset
  long end[N + 1]{}, total = 0;
  for (int t = 0; t < count; ++t) {
    const int id = order[t], first = lives.first[id], last = lives.last[id];
    const long size = detail::buffer_bytes(graph[id].type);
    long from = 0, best = -1, gap = 0;
    for (int j = 0; j < done; ++j) {  // short: compilers evaluate it some ten thousand times
      const int other = placed[j];
      if (lives.last[other] < first || lives.first[other] > last) continue;
      const long room = plan.at[other].offset - from;
      if (room >= size && (best < 0 || room < gap)) best = from, gap = room;
      if (end[j] > from) from = end[j];
    }
    if (best < 0) best = from;
    plan.at[id] = {region, best};
    int j = done++;
    for (; j && plan.at[placed[j - 1]].offset > best; --j) placed[j] = placed[j - 1], end[j] = end[j - 1];
    placed[j] = id, end[j] = best + size;
    if (best + size > total) total = best + size;
  }
  plan.size[int(region)] = total;
  return plan;
}

/// The best of up to four plans for one region, each an evaluation of its own; the first that reaches the bound ends
/// the search. Tag has constants `graph` and `lives`; Before::plan is the plan of the other regions. (A type, since
/// nvcc takes no reference to a constant as a template argument.)
template <class Tag, class Before, Region region, int tries = 3>
struct BestPlan {
  using Earlier = BestPlan<Tag, Before, region, tries - 1>;

  static constexpr auto make() {
    constexpr const auto& earlier = Earlier::plan;
    if constexpr (earlier.size[int(region)] > earlier.bound[int(region)]) {
      const auto other = place_by_size(Tag::graph, Tag::lives, earlier, region, PlaceOrder(tries - 1));
      return other.size[int(region)] < earlier.size[int(region)] ? other : earlier;
    } else {
      return earlier;
    }
  }
  static constexpr auto plan = make();
};
template <class Tag, class Before, Region region>
struct BestPlan<Tag, Before, region, 0> {
  static constexpr auto plan = place_by_time(Tag::graph, Tag::lives, Before::plan, region);
};

}  // namespace tenon
TENON_INT_SIZES_END
