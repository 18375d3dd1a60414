// Where the values of one sample are while a kernel computes all that belongs to it (target/per_sample.hpp).
#pragma once
#include <limits>

#include <tenon/core/memory/arena.hpp>
#include <tenon/graph/plan/buffers.hpp>
#include <tenon/target/per_sample.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// What the nodes of a graph do in the kernel; SampleRole::none for those that are outside, and for views and parts.
template <int N>
struct SampleRoles {
  SampleRole of[N + 1]{};

  constexpr bool is_step(int id) const { return of[id] == SampleRole::sample || of[id] == SampleRole::part; }
};

/// Steps of a kernel, at most: each is code, and the planner takes a time of steps^2.
inline constexpr int most_sample_steps = 96;

/// What a target knows of the steps of a kernel.
template <int N>
struct SampleFacts {
  int staged[N + 1]{};    // bytes of fast memory that a step uses beside the values
  int threads[N + 1]{};   // of a block, that have something to do
  bool barrier[N + 1]{};  // what it brings there is followed by a barrier
  bool given[N + 1]{};    // other blocks write to its result
  int most_bytes = 0;     // of fast memory: a step goes without what it would use beside the values if that is too much
};

template <int N>
struct SampleMemory {
  int at[N + 1]{};          // bytes from the begin of the fast memory; -1: the value is not there
  int staged_at[N + 1]{};   // the same of what a step uses beside the values; -1: nothing
  bool handed_on[N + 1]{};  // the batch's kernel, or another one, reads it: it goes to the target's memory
  int step[most_sample_steps]{};
  int steps = 0, bytes = 0;
};

namespace detail {
/// A larger value takes this much: more than any target has, and an int holds the sum of all.
inline constexpr long most_placed_bytes = 4 << 20;

/// Places in the fast memory, first fit, by lifetimes: steps from one to another.
template <int most>
class FastMemory {
 public:
  /// The place; -1, if it would end beyond `most_bytes`.
  constexpr int place(int bytes, int now, int last, int most_bytes = std::numeric_limits<int>::max()) {
    int alive = 0, from = 0, where = 0;
    for (int j = 0; j < count_; ++j)
      if (placed_[j].last >= now) placed_[alive++] = placed_[j];
    for (count_ = alive; where < count_; ++where) {
      if (placed_[where].begin - from >= bytes) break;
      from = placed_[where].end;
    }
    if (from + bytes > most_bytes) return -1;
    for (int j = count_++; j > where; --j) placed_[j] = placed_[j - 1];
    placed_[where] = {from, from + bytes, last};
    if (from + bytes > bytes_) bytes_ = from + bytes;
    return from;
  }
  constexpr int bytes() const { return bytes_; }

 private:
  struct Place {
    int begin, end, last;
  };
  Place placed_[most]{};  // what lives, by place
  int count_ = 0, bytes_ = 0;
};
/// The steps in their order. A sum over the batch without a barrier comes after the next step that has one, and is not
/// shared: then both are computed side by side, and no block waits for another one between them.
template <int N>
constexpr void order_samples(const SampleRoles<N>& roles, const SampleFacts<N>& facts, int count,
                             SampleMemory<N>& made) {
  int late[most_sample_steps]{}, lates = 0;
  for (int id = 0; id < count; ++id) {
    if (!roles.is_step(id)) continue;
    if (roles.of[id] == SampleRole::part && !facts.barrier[id]) late[lates++] = id;
    else made.step[made.steps++] = id;
    if (!facts.barrier[id] || facts.given[id]) continue;
    for (int k = 0; k < lates; ++k) made.step[made.steps++] = late[k];
    lates = 0;
  }
  for (int k = 0; k < lates; ++k) made.step[made.steps++] = late[k];
}
}  // namespace detail

/// Places values in the fast memory. What is handed on and read in the kernel, too, stays to its end. If other blocks
/// write to the result of a step, each of them may have come to that step when this one has just done the last such
/// step before: a value stays until the next one. O(steps^2).
template <int N>
constexpr SampleMemory<N> place_samples(const Graph<N>& graph, const SampleRoles<N>& roles,
                                        const SampleFacts<N>& facts = {}) {
  SampleMemory<N> made;
  detail::order_samples(roles, facts, graph.count, made);
  const Buffers<N> buffers = buffers_of(graph);
  int last[N + 1]{};
  bool read_here[N + 1]{};
  const auto each_read = [&](int id, auto f) {
    for (int k = 0; k < reads(graph[id]) && !graph[id].op->view; ++k) {
      const int owner = buffers.owner[graph[id].operand[k]];
      if (roles.of[maker(graph, owner)] == SampleRole::sample) f(owner);
    }
  };
  for (int id = 0; id < graph.count; ++id) {
    made.at[id] = made.staged_at[id] = -1;
    if (!roles.is_step(id)) each_read(id, [&](int owner) { made.handed_on[owner] = true; });
  }
  for (int now = 0; now < made.steps; ++now)
    each_read(made.step[now], [&](int owner) { read_here[owner] = true, last[owner] = now; });
  for (int k = 0; k < graph.outputs; ++k) made.handed_on[buffers.owner[graph.output[k]]] = true;
  const auto end_of_life = [&](int end) {
    for (int next = end; next < made.steps; ++next)
      if (facts.given[made.step[next]]) return next;
    return end;
  };
  detail::FastMemory<2 * N + 2> memory;
  const auto place = [&](int id, int now) {
    const long bytes = aligned(graph[id].type.bytes(1));
    if (read_here[id])
      made.at[id] = memory.place(int(bytes < detail::most_placed_bytes ? bytes : detail::most_placed_bytes), now,
                                 made.handed_on[id] ? made.steps : end_of_life(last[id]));
  };
  for (int now = 0; now < made.steps; ++now) {
    const int id = made.step[now];
    if (roles.of[id] == SampleRole::sample) {
      place(id, now);
      each_part(graph, id, [&](int part, int) { place(part, now); });
    }
    if (facts.staged[id] > 0)
      made.staged_at[id] = memory.place(int(aligned(facts.staged[id])), now, end_of_life(now), facts.most_bytes);
  }
  made.bytes = memory.bytes();
  return made;
}

}  // namespace tenon
TENON_INT_SIZES_END
