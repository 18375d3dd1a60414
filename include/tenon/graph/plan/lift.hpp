// The two regions of scratch memory in one: fixed buffers stand above what the batch needs at their time, not above all
// that it ever needs.
#pragma once
#include <tenon/graph/plan/place.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
// A fixed buffer that lives for longer stays below the samples: above them it would stand above too many of them.
inline constexpr int short_life = 8;
// More moments than this, over all buffers, are not looked at: in such deep graphs samples need far more than the rest.
inline constexpr long many_moments = 60000;
// Plans are compared by what they need for a batch of this many samples.
inline constexpr long typical_batch = 32;

// The end of the highest buffer of region sample that is alive, at each moment.
template <int N>
struct Tops {
  long at[N + 1]{};
  bool known = true;
};
template <int N>
constexpr Tops<N> tops_of(const Graph<N>& graph, const Lifetimes<N>& lives, const Plan<N>& plan) {
  Tops<N> tops;
  long moments = 0;
  for (int id = 0; id < graph.count; ++id)
    if (owns(lives, id, Region::sample)) moments += lives.last[id] - lives.first[id] + 1;
  tops.known = moments <= many_moments;
  for (int id = 0; tops.known && id < graph.count; ++id) {
    if (!owns(lives, id, Region::sample)) continue;
    const long end = plan.at[id].offset + buffer_bytes(graph[id].type);
    for (int moment = lives.first[id]; moment <= lives.last[id] && moment < graph.count; ++moment)
      if (end > tops.at[moment]) tops.at[moment] = end;
  }
  return tops;
}

// A buffer of a group counts as long-lived.
template <int N>
constexpr bool is_short(const Lifetimes<N>& lives, int id) {
  return lives.first[id] == id && lives.last[id] - id < short_life;
}

// The fixed buffers of one life span, short or long, by time: a plan for them alone.
template <int N>
constexpr Plan<N> place_lives(const Graph<N>& graph, const Lifetimes<N>& lives, bool short_ones) {
  Lifetimes<N> chosen = lives;
  for (int id = 0; id < graph.count; ++id)
    if (owns(lives, id, Region::fixed) && is_short(lives, id) != short_ones) chosen.root[id] = -1;
  return place_by_time(graph, chosen, Plan<N>{}, Region::fixed);
}

// Every fixed buffer of a time in which there is one without a pause gets the same lift.
template <int N>
constexpr void lift_by_time(const Graph<N>& graph, const Lifetimes<N>& lives, const Tops<N>& tops, Plan<N>& plan) {
  for (int id = 0; id < graph.count;) {
    long highest = 0, end = 0;
    int last = id, next = id;
    for (; next <= last && next < graph.count; ++next) {
      if (tops.at[next] > highest) highest = tops.at[next];
      if (!owns(lives, next, Region::fixed) || !is_short(lives, next)) continue;
      if (lives.last[next] > last) last = lives.last[next];
      const long here = plan.at[next].offset + buffer_bytes(graph[next].type);
      if (here > end) end = here;
    }
    for (int at = id; end && at < next; ++at)
      if (owns(lives, at, Region::fixed) && is_short(lives, at)) plan.at[at].lift = highest;
    if (end) plan.add_need({highest, end});
    id = next;
  }
}
}  // namespace detail

/// Joins the regions of a plan. Long-lived fixed buffers stand below the samples, short-lived ones right above the
/// samples that live beside them, if that takes no more memory at any batch size; else all stand above all samples.
/// O(nodes + moments of samples).
template <int N>
constexpr Plan<N> lift_fixed(const Graph<N>& graph, const Lifetimes<N>& lives, const Plan<N>& plan) {
  const Plan<N> low = detail::place_lives(graph, lives, false), high = detail::place_lives(graph, lives, true);
  const detail::Tops<N> tops = detail::tops_of(graph, lives, plan);
  Plan<N> together = plan, apart = plan;
  apart.floor = low.size[1];
  for (int id = 0; id < graph.count; ++id) {
    if (!detail::owns(lives, id, Region::fixed)) continue;
    together.at[id].lift = plan.size[0];
    apart.at[id] =
        detail::is_short(lives, id) ? BufferPlace{Region::fixed, apart.floor + high.at[id].offset} : low.at[id];
  }
  together.add_need({plan.size[0], plan.size[1]});
  apart.add_need({plan.size[0], apart.floor});
  detail::lift_by_time(graph, lives, tops, apart);
  // no need of `apart` has more bytes per sample
  return tops.known && apart.bytes(1) <= together.bytes(1) ? apart : together;
}

/// The best of up to four plans of region sample, joined with the other regions of Before::plan; the first that reaches
/// its bound, and comes near to what is alive at the worst moment of a batch of 32, ends the search. As BestPlan.
template <class Tag, class Before, int tries = 3>
struct BestJoined {
  using Earlier = BestJoined<Tag, Before, tries - 1>;
  static constexpr const auto& first = Earlier::first;
  static constexpr long bound = Earlier::bound;

  static constexpr auto make() {
    constexpr const auto& earlier = Earlier::plan;
    if constexpr (earlier.size[int(Region::sample)] > first.bound[int(Region::sample)] ||
                  earlier.bytes(detail::typical_batch) - bound > bound >> 8) {
      const auto other = lift_fixed(
          Tag::graph, Tag::lives, place_by_size(Tag::graph, Tag::lives, first, Region::sample, PlaceOrder(tries - 1)));
      return other.bytes(detail::typical_batch) < earlier.bytes(detail::typical_batch) ? other : earlier;
    } else {
      return earlier;
    }
  }
  static constexpr auto plan = make();
};
template <class Tag, class Before>
struct BestJoined<Tag, Before, 0> {
  static constexpr auto first = place_by_time(Tag::graph, Tag::lives, Before::plan, Region::sample);
  static constexpr long bound = joint_bound(Tag::graph, Tag::lives, detail::typical_batch);
  static constexpr auto plan = lift_fixed(Tag::graph, Tag::lives, first);
};

}  // namespace tenon
TENON_INT_SIZES_END
