// Where the values of one sample are while a kernel computes all that belongs to it (target/per_sample.hpp).
#pragma once
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

template <int N>
struct SampleMemory {
  int at[N + 1]{};          // bytes from the begin of the fast memory; -1: the value is not there
  bool handed_on[N + 1]{};  // the batch's kernel, or another one, reads it: it goes to the target's memory
  int step[most_sample_steps]{};
  int steps = 0, bytes = 0;
};

/// Places values in the fast memory, first fit, by lifetimes. What is handed on and read in the kernel, too, stays to
/// its end. O(steps^2).
template <int N>
constexpr SampleMemory<N> place_samples(const Graph<N>& graph, const SampleRoles<N>& roles) {
  SampleMemory<N> made;
  const Buffers<N> buffers = buffers_of(graph);
  int last[N + 1]{};
  bool read_here[N + 1]{};
  for (int id = 0; id < graph.count; ++id) {
    made.at[id] = -1;
    const bool step = roles.is_step(id);
    if (step) made.step[made.steps] = id;
    for (int k = 0; k < reads(graph[id]) && !graph[id].op->view; ++k) {
      const int owner = buffers.owner[graph[id].operand[k]];
      if (roles.of[maker(graph, owner)] != SampleRole::sample) continue;
      if (step) read_here[owner] = true, last[owner] = made.steps;
      else made.handed_on[owner] = true;
    }
    made.steps += step;
  }
  for (int k = 0; k < graph.outputs; ++k) made.handed_on[buffers.owner[graph.output[k]]] = true;
  int placed[N + 1]{}, count = 0;  // what lives, by place
  const auto place = [&](int id, int now) {
    if (!read_here[id]) return;
    if (made.handed_on[id]) last[id] = made.steps;
    const int bytes = int(aligned(graph[id].type.bytes(1)));
    int alive = 0, from = 0, where = 0;
    for (int j = 0; j < count; ++j)
      if (last[placed[j]] >= now) placed[alive++] = placed[j];
    for (count = alive; where < count; ++where) {
      if (made.at[placed[where]] - from >= bytes) break;
      from = made.at[placed[where]] + int(aligned(graph[placed[where]].type.bytes(1)));
    }
    for (int j = count++; j > where; --j) placed[j] = placed[j - 1];
    placed[where] = id, made.at[id] = from;
    if (from + bytes > made.bytes) made.bytes = from + bytes;
  };
  for (int now = 0; now < made.steps; ++now) {
    const int id = made.step[now];
    if (roles.of[id] != SampleRole::sample) continue;
    place(id, now);
    each_part(graph, id, [&](int part, int) { place(part, now); });
  }
  return made;
}

}  // namespace tenon
TENON_INT_SIZES_END
