// The steps of a kernel per sample and of the batch's kernel after it, as constants.
#pragma once
#include <tenon/backend/cuda/sample/work.hpp>
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/plan/plan.hpp>
#include <tenon/graph/plan/sample_memory.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

template <class C>
constexpr bool has_sample_work() {
  return requires { sizeof(SampleWork<typename C::Op>); };
}
/// An extent of 0 leaves nothing to compute, and would be a divisor.
template <class C>
constexpr bool has_elements() {
  bool all = C::result.count(1) > 0;
  for (int k = 0; k < C::operands; ++k) all &= C::operand(k).count(1) > 0;
  return all;
}
template <class C>
constexpr SampleRole sample_role() {
  if constexpr (has_sample_work<C>() && has_elements<C>()) return SampleWork<typename C::Op>::template role<C>();
  else return SampleRole::none;
}
/// Threads that compute an element together in the batch's kernel.
template <class C>
constexpr int element_lanes() {
  if constexpr (requires { SampleWork<typename C::Op>::template lanes<C>; })
    return SampleWork<typename C::Op>::template lanes<C>;
  else return 1;
}

/// Shared memory that a step uses beside the values.
template <class C>
constexpr int staged_bytes() {
  if constexpr (requires { SampleWork<typename C::Op>::template staged_bytes<C>; })
    return SampleWork<typename C::Op>::template staged_bytes<C>;
  else return 0;
}
/// Items of a step that the blocks of a sample share; 0: each does the whole step.
template <class C>
constexpr int shared_items() {
  if constexpr (requires { SampleWork<typename C::Op>::template shared_items<C>; })
    return SampleWork<typename C::Op>::template shared_items<C>;
  else return 0;
}
/// Elements that a thread of it changes at a time.
template <class C>
constexpr int element_neighbours() {
  if constexpr (requires { SampleWork<typename C::Op>::template neighbours<C>; })
    return SampleWork<typename C::Op>::template neighbours<C>;
  else return 1;
}

/// The group of a graph. The roles are those of its nodes; all others have none.
template <int N>
struct SamplePlan {
  SampleMemory<N> memory{};
  bool barrier[N + 1]{};            // before a step
  int shift[N + 1]{};               // thread t of a block takes the place of thread t + shift
  long part_at[N + 1]{};            // of a part: elements before it, per sample
  long parts = 0;                   // elements of all parts of a sample
  bool on_demand[N + 1]{};          // a sum that only the update reads which follows it: computed there
  int copied[N + 1]{}, copies = 0;  // values that go from shared memory to global memory at the end
  int root[N + 1]{}, roots = 0;     // what the batch's kernel stores or updates
};

namespace detail {
// A barrier is before a step that reads what another thread may have written since the last barrier, or writes where
// another one may read.
template <int N>
constexpr void place_barriers(const Graph<N>& graph, const SampleRoles<N>& roles, SamplePlan<N>& plan) {
  const Buffers<N> buffers = buffers_of(graph);
  const SampleMemory<N>& memory = plan.memory;
  const auto end_of = [&](int id) { return memory.at[id] + int(aligned(graph[id].type.bytes(1))); };
  const auto overlap = [&](int a, int b) {
    return memory.at[a] >= 0 && memory.at[b] >= 0 && memory.at[a] < end_of(b) && memory.at[b] < end_of(a);
  };
  int since = 0;  // the first step after the last barrier
  for (int k = 0; k < memory.steps; ++k) {
    const int id = memory.step[k];
    bool wanted = false;
    for (int j = since; j < k && !wanted; ++j) {
      const int other = memory.step[j];
      const auto conflicts = [&](int written) {  // a result of this step with what the other one reads or writes
        bool any = overlap(written, other);
        each_part(graph, other, [&](int part, int) { any |= overlap(written, part); });
        for (int o = 0; o < graph[other].operands; ++o) any |= overlap(written, buffers.owner[graph[other].operand[o]]);
        return any;
      };
      for (int o = 0; o < graph[id].operands; ++o) wanted |= maker(graph, buffers.owner[graph[id].operand[o]]) == other;
      if (roles.of[id] != SampleRole::sample) continue;
      wanted |= conflicts(id);
      each_part(graph, id, [&](int part, int) { wanted |= conflicts(part); });
    }
    if (wanted) plan.barrier[id] = true, since = k;
    plan.shift[id] = (k - since) * (sample_threads - warp) % sample_threads;  // one warp further
  }
}
}  // namespace detail

template <int N>
constexpr SamplePlan<N> plan_samples(const Graph<N>& graph, const SampleRoles<N>& roles) {
  SamplePlan<N> plan;
  plan.memory = place_samples(graph, roles);
  detail::place_barriers(graph, roles, plan);
  const Buffers<N> buffers = buffers_of(graph);
  int readers[N + 1]{}, reader[N + 1]{};
  for (int id = 0; id < graph.count; ++id)
    for (int k = 0; k < graph[id].operands && !graph[id].op->view; ++k) {
      const int owner = buffers.owner[graph[id].operand[k]];
      ++readers[owner], reader[owner] = id;
    }
  for (int k = 0; k < graph.outputs; ++k) readers[buffers.owner[graph.output[k]]] += 2;
  for (int id = 0; id < graph.count; ++id) {
    const SampleRole role = roles.of[id];
    if (plan.memory.at[id] >= 0 && plan.memory.handed_on[id]) plan.copied[plan.copies++] = id;
    if (role == SampleRole::part) plan.part_at[id] = plan.parts, plan.parts += graph[id].type.count(1);
    if (role == SampleRole::none || role == SampleRole::sample) continue;
    const bool alone = !graph[id].op->effect && readers[id] == 1;
    plan.on_demand[id] =
        alone && roles.of[reader[id]] == SampleRole::update && buffers.owner[graph[reader[id]].operand[1]] == id;
    if (!plan.on_demand[id]) plan.root[plan.roots++] = id;
  }
  return plan;
}

}  // namespace tenon::kernel::cuda
TENON_INT_SIZES_END
