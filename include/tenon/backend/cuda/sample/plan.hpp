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

/// Shared memory that a step uses beside the values, and whether it has a barrier after it has brought something there.
template <class C>
constexpr int staged_bytes() {
  if constexpr (requires { SampleWork<typename C::Op>::template staged_bytes<C>; })
    return SampleWork<typename C::Op>::template staged_bytes<C>;
  else return 0;
}
template <class C>
constexpr bool has_barrier() {
  if constexpr (requires { SampleWork<typename C::Op>::template has_barrier<C>; })
    return SampleWork<typename C::Op>::template has_barrier<C>;
  else return false;
}
/// Threads of a block that have something to do.
template <class C>
constexpr int busy_threads() {
  long threads = C::result.count(1);
  if constexpr (requires { SampleWork<typename C::Op>::template threads<C>; })
    threads = SampleWork<typename C::Op>::template threads<C>;
  return threads < sample_threads ? int(threads) : sample_threads;
}
/// Whether blocks of a sample share a step, and give each other what they have computed of the result.
template <class C>
constexpr bool is_shared() {
  if constexpr (requires { SampleWork<typename C::Op>::template is_shared<C>; })
    return SampleWork<typename C::Op>::template is_shared<C>;
  else return false;
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
  SampleFacts<N> facts{};           // of its calls; none, if the values leave no room
  bool barrier[N + 1]{};            // before a step
  int shift[N + 1]{};               // thread t of a block takes the place of thread t + shift
  long part_at[N + 1]{};            // of a part: elements before it, per sample
  long parts = 0;                   // elements of all parts of a sample
  bool on_demand[N + 1]{};          // a sum that only the update reads which follows it: computed there
  int copied[N + 1]{}, copies = 0;  // values that go from shared memory to global memory at the end
  int root[N + 1]{}, roots = 0;     // what the batch's kernel stores or updates

  /// Whether blocks of a sample have work to share, and give each other the result of a step.
  constexpr bool shares() const {
    bool any = false;
    for (int k = 0; k < memory.steps; ++k) any |= facts.given[memory.step[k]];
    return any;
  }
};

namespace detail {
// A barrier is before a step that reads what another thread may have written since the last barrier, or writes where
// another one may read or write.
template <int N>
constexpr void place_barriers(const Graph<N>& graph, const SampleRoles<N>& roles, SamplePlan<N>& plan) {
  const Buffers<N> buffers = buffers_of(graph);
  const SampleMemory<N>& memory = plan.memory;
  // f(begin, end, is_written) for what a step uses of the shared memory
  const auto each_use = [&](int id, auto f) {
    const auto value = [&](int of, bool is_written) {
      if (const int at = memory.at[of]; at >= 0) f(at, at + int(aligned(graph[of].type.bytes(1))), is_written);
    };
    value(id, true);
    each_part(graph, id, [&](int part, int) { value(part, true); });
    for (int o = 0; o < graph[id].operands; ++o) value(buffers.owner[graph[id].operand[o]], false);
    if (const int at = memory.staged_at[id]; at >= 0) f(at, at + plan.facts.staged[id], true);
  };
  const auto must_wait = [&](int id, int other) {
    bool any = false;
    for (int o = 0; o < graph[id].operands; ++o) any |= maker(graph, buffers.owner[graph[id].operand[o]]) == other;
    each_use(id, [&](int begin, int end, bool is_written) {
      each_use(other, [&](int from, int to, bool was_written) {
        any |= (is_written || was_written) && begin < to && from < end;
      });
    });
    return any;
  };
  // Where blocks share a sample, a step of one result that no step reads is done by one of them: the others do not come
  // to the barrier in it.
  const auto all_blocks_do = [&](int id) {
    bool all = roles.of[id] == SampleRole::part || plan.facts.given[id] || memory.at[id] >= 0;
    each_part(graph, id, [&](int part, int) { all |= memory.at[part] >= 0; });
    return all || !plan.shares();
  };
  int since = 0, busy = 0;  // the first step after the last barrier; threads that have something to do since then
  for (int k = 0; k < memory.steps; ++k) {
    const int id = memory.step[k];
    bool wanted = false;
    for (int j = since; j < k && !wanted; ++j) wanted = must_wait(id, memory.step[j]);
    if (wanted) plan.barrier[id] = true, since = k, busy = 0;
    plan.shift[id] = (sample_threads - busy) % sample_threads;
    busy = (busy + (plan.facts.threads[id] + warp - 1) / warp * warp) % sample_threads;
    if (memory.staged_at[id] >= 0 && plan.facts.barrier[id] && all_blocks_do(id)) since = k;
  }
}
}  // namespace detail

template <int N>
constexpr SamplePlan<N> plan_samples(const Graph<N>& graph, const SampleRoles<N>& roles, const SampleFacts<N>& facts) {
  SamplePlan<N> plan;
  plan.facts = facts;
  plan.facts.most_bytes = most_sample_bytes;
  plan.memory = place_samples(graph, roles, plan.facts);
  if (plan.memory.bytes > most_sample_bytes) {  // one block for a sample needs less, and values alone the least
    for (bool& given : plan.facts.given) given = false;
    plan.memory = place_samples(graph, roles, plan.facts);
    if (plan.memory.bytes > most_sample_bytes) plan.facts = {}, plan.memory = place_samples(graph, roles);
  }
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
