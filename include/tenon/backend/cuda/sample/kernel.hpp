// A block, or a cluster of them, computes all that belongs to a sample; then one kernel adds up over the batch and
// updates.
#pragma once
#include <tenon/backend/cuda/cluster.hpp>
#include <tenon/backend/cuda/sample/convolutions.hpp>
#include <tenon/backend/cuda/sample/elements.hpp>
#include <tenon/backend/cuda/sample/key.hpp>
#include <tenon/backend/cuda/sample/plan.hpp>
#include <tenon/backend/cuda/sample/products.hpp>
#include <tenon/backend/cuda/sample/sums.hpp>
#include <tenon/graph/plan/sample_group.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// What device code asks of a Compiled graph G: functions, because it cannot refer to the tables (device.hpp).
template <class G>
struct SampleGraph {
  static constexpr auto find_roles() {
    auto roles = tenon::detail::sample_roles<Cuda, G>();
    for (int id = 0; id < G::graph.count; ++id)
      if (!G::groups.of[id]) roles.of[id] = SampleRole::none;
    return roles;
  }
  static constexpr auto roles = find_roles();
  template <int id>
  using CallAt = CallOf<tenon::detail::KeyAt<G, G::kernels.of[id]>>;
  static constexpr auto find_facts() {
    SampleFacts<std::remove_cvref_t<decltype(G::graph)>::capacity> made;
    const auto of_step = [&]<int id>(std::integral_constant<int, id>) {
      if constexpr (roles.is_step(id)) {
        made.staged[id] = staged_bytes<CallAt<id>>(), made.barrier[id] = has_barrier<CallAt<id>>();
        made.threads[id] = busy_threads<CallAt<id>>(), made.given[id] = is_shared<CallAt<id>>();
      }
    };
    [&]<int... id>(std::integer_sequence<int, id...>) {
      (of_step(std::integral_constant<int, id>()), ...);
    }(std::make_integer_sequence<int, G::graph.count>());
    return made;
  }
  static constexpr auto facts = find_facts();
  static constexpr auto plan = plan_samples(G::graph, roles, facts);
  static constexpr auto owners = buffers_of(G::graph);

  static constexpr int steps() { return plan.memory.steps; }
  static constexpr int step(int k) { return plan.memory.step[k]; }
  static constexpr bool waits(int id) { return plan.barrier[id]; }
  static constexpr int shift(int id) { return plan.shift[id]; }
  static constexpr bool is_part(int id) { return roles.of[id] == SampleRole::part; }
  static constexpr bool is_update(int id) { return roles.of[id] == SampleRole::update; }
  static constexpr int owner(int id) { return owners.owner[id]; }
  static constexpr int operand(int id, int k) { return G::graph[id].operand[k]; }
  static constexpr int shared_at(int id) { return plan.memory.at[id]; }
  static constexpr long sample_bytes(int id) { return G::graph[id].type.batched() ? G::graph[id].type.bytes(1) : 0; }
  static constexpr BufferPlace place(int id) { return G::plan.at[id]; }
  static constexpr long floor() { return G::plan.floor; }
  /// The number of a call among those with an immediate; -1: it has none. Device code must not know the immediate
  /// itself: a random stream is made of names of members, which nvcc does not know when it compiles for the device.
  static constexpr int immediate_at(int id) {
    int before = 0;
    for (int other = 0; other < id; ++other) before += has_immediate(other);
    return has_immediate(id) ? before : -1;
  }
  static constexpr bool has_immediate(int id) { return !G::graph[id].op->leaf && G::graph[id].immediate != 0; }
  static constexpr int immediates() {
    int all = 0;
    for (int id = 0; id < G::graph.count; ++id) all += has_immediate(id);
    return all;
  }
  static constexpr int copies() { return plan.copies; }
  static constexpr int copied(int k) { return plan.copied[k]; }
  static constexpr int roots() { return plan.roots; }
  static constexpr int root(int k) { return plan.root[k]; }
  static constexpr bool on_demand(int id) { return plan.on_demand[id]; }
  static constexpr long parts() { return plan.parts; }
  static constexpr long part_at(int id) { return plan.part_at[id]; }
  static constexpr int shared_bytes() { return plan.memory.bytes; }
  static constexpr int staged_at(int id) { return plan.memory.staged_at[id]; }
  /// Whether blocks of a sample have work to share, and give each other the result of a step.
  static constexpr bool is_given(int id) { return plan.facts.given[id]; }
  static constexpr bool shares() { return plan.shares(); }
  // The node that is result k of a call, -1: no node reads it.
  static constexpr int result(int id, int k) {
    int found = k == 0 ? id : -1;
    each_part(G::graph, id, [&](int part, int number) {
      if (number == k) found = part;
    });
    return found;
  }
};

/// Where value `id` begins in global memory; `sample`: of that sample.
template <class G, int id>
__device__ std::byte* in_global(const Arguments& a, long sample) {
  using S = SampleGraph<G>;
  constexpr BufferPlace place = S::place(id);
  constexpr long floor = S::floor(), bytes = S::sample_bytes(id);
  return sample_address(a, place, floor) + sample * bytes;
}
template <class G, int id>
__device__ float* part_in_global(const Arguments& a, long sample) {
  using S = SampleGraph<G>;
  constexpr long at = S::part_at(id), count = result_count<typename S::template CallAt<id>>(1);
  return reinterpret_cast<float*>(a.workspace) + at * a.n + sample * count;
}

/// What belongs to a sample. Blocks that have the same one each have all of its values: they share the large steps, and
/// exchange what they have computed of them.
template <class Key>
struct SampleSteps {
  using G = GraphOfKey<Key>;
  using S = SampleGraph<G>;
  struct Block {
    const Arguments& a;
    SampleOfBatch own;
    const std::uint64_t* immediates;
  };

  __device__ static void run(const Block& block) {
    if (block.own.ranks > 1) begin_in_cluster(), wait_for_cluster();  // all have begun before one writes to another
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (run_step<S::step(k)>(block), ...);
    }(std::make_integer_sequence<int, S::steps()>());
    if constexpr (S::copies() > 0) {
      __syncthreads();
      [&]<int... k>(std::integer_sequence<int, k...>) {
        (copy<S::copied(k)>(block), ...);
      }(std::make_integer_sequence<int, S::copies()>());
    }
  }

 private:
  template <int id>
  static constexpr bool in_shared() {
    if constexpr (id < 0) return false;
    else return S::shared_at(S::owner(id)) >= 0;
  }
  template <int id, int... k>
  static constexpr bool any_in_shared(std::integer_sequence<int, k...>) {
    return in_shared<id>() || (in_shared<S::result(id, k + 1)>() || ...);
  }
  template <int id>
  __device__ static void* where(const Block& block) {
    if constexpr (id < 0) return nullptr;
    else if constexpr (constexpr int at = S::shared_at(S::owner(id)); at >= 0) return dynamic_shared() + at;
    else return in_global<G, id>(block.a, block.own.sample);
  }
  template <int id>
  __device__ static void run_step(const Block& block) {
    using C = typename S::template CallAt<id>;
    using Work = SampleWork<typename C::Op>;
    if constexpr (S::waits(id)) __syncthreads();
    Arguments own;
    own.n = 1;
    if constexpr (constexpr int at = S::immediate_at(id); at >= 0) own.immediate = block.immediates[at];
    [&]<int... k>(std::integer_sequence<int, k...>) {
      ((own.buffer[k + 1] = where<S::operand(id, k)>(block)), ...);
    }(std::make_integer_sequence<int, C::operands>());
    constexpr int shift = S::shift(id);
    SampleOfBatch which = block.own;
    which.thread = (which.thread + shift) % sample_threads;
    constexpr int staged_at = S::staged_at(id);
    std::byte* const staged = dynamic_shared() + staged_at;
    if constexpr (S::is_part(id)) {
      float* const part = part_in_global<G, id>(block.a, which.sample);
      if constexpr (staged_at >= 0) Work::template part<C>(own, which, part, staged);
      else Work::template part<C>(own, which, part);
    } else {
      own.buffer[0] = where<id>(block);
      [&]<int... k>(std::integer_sequence<int, k...>) {
        (put_result<id, C::operands, k + 1>(block, own), ...);
      }(std::make_integer_sequence<int, max_results - 1>());
      constexpr bool given = S::is_given(id);
      if constexpr (!given && !any_in_shared<id>(std::make_integer_sequence<int, max_results - 1>()))
        if (block.own.rank > 0) return;  // other kernels read it: one block computes it
      if constexpr (!given) which.rank = 0, which.ranks = 1;
      which.gives = given && in_shared<id>();
      if constexpr (staged_at >= 0) Work::template sample<C>(own, which, staged);
      else Work::template sample<C>(own, which);
      if constexpr (given && in_shared<id>())
        if (which.ranks > 1) arrive_at_cluster(), wait_for_cluster();
    }
  }
  template <int id, int operands, int k>
  __device__ static void put_result(const Block& block, Arguments& own) {
    if constexpr (constexpr int part = S::result(id, k); part >= 0) own.buffer[operands + k] = where<part>(block);
  }
  template <int id>
  __device__ static void copy(const Block& block) {
    constexpr long bytes = S::sample_bytes(id);
    using Unit = std::conditional_t<bytes % 4 == 0, std::uint32_t, std::byte>;
    const auto* const from = reinterpret_cast<const Unit*>(where<id>(block));
    auto* const to = reinterpret_cast<Unit*>(in_global<G, id>(block.a, block.own.sample));
    each_of_block<bytes / long(sizeof(Unit))>(block.own, [=](int i) { to[i] = from[i]; });
  }
};
/// Its kernel: blocks of a sample lie side by side, and are a cluster.
template <class Key, int immediates>
struct SampleBlocks {
  static constexpr int threads = sample_threads;
  int ranks;
  std::uint32_t share;  // 2^32 / ranks, rounded up
  std::uint64_t immediate[immediates + 1];

  __device__ void block(const Arguments& a) const {
    const int sample = ranks > 1 ? int((std::uint64_t(blockIdx.x) * share) >> 32) : int(blockIdx.x);
    const SampleOfBatch own{sample, a.n, int(threadIdx.x), int(blockIdx.x) - sample * ranks, ranks, share};
    SampleSteps<Key>::run({a, own, immediate});
  }
};

/// The sums over the batch: a thread, or some lanes, per element of a root, by which the blocks are shared.
template <class Key>
struct BatchSteps {
  using G = GraphOfKey<Key>;
  using S = SampleGraph<G>;
  static constexpr int threads = 128;

  /// What is computed for a root: that of an update is its gradient.
  template <int id>
  TENON_DEVICE static constexpr int sum_of() {
    constexpr int sum = S::is_update(id) ? S::owner(S::operand(id, 1)) : id;
    return sum;
  }
  /// Threads for an element of a root.
  template <int id>
  TENON_DEVICE static constexpr int lanes_of() {
    return element_lanes<typename S::template CallAt<sum_of<id>()>>();
  }
  template <int id>
  TENON_DEVICE static constexpr int blocks_of() {
    using C = typename S::template CallAt<id>;
    return int((result_count<C>(1) / element_neighbours<C>() * lanes_of<id>() + threads - 1) / threads);
  }
  static constexpr long blocks() { return first_block<S::roots()>(); }
  __device__ static void block(const Arguments& a) {
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (run_root<k>(a), ...);
    }(std::make_integer_sequence<int, S::roots()>());
  }

 private:
  template <int k>
  TENON_DEVICE static constexpr int first_block() {
    if constexpr (k == 0) return 0;
    else return first_block<k - 1>() + blocks_of<S::root(k - 1)>();
  }
  template <int id>
  __device__ static Arguments arguments_of(const Arguments& a) {
    using C = typename S::template CallAt<id>;
    Arguments own;
    own.n = a.n;
    static_assert(!S::has_immediate(id));
    own.buffer[0] = in_global<G, id>(a, 0);
    [&]<int... k>(std::integer_sequence<int, k...>) {
      ((own.buffer[k + 1] = in_global<G, S::operand(id, k)>(a, 0)), ...);
    }(std::make_integer_sequence<int, C::operands>());
    return own;
  }
  template <int id>
  __device__ static float element(const Arguments& a, long i) {
    using C = typename S::template CallAt<id>;
    if constexpr (S::is_part(id))
      return SampleWork<typename C::Op>::template join<C>(part_in_global<G, id>(a, 0) + i, a.n);
    else return SampleWork<typename C::Op>::template element<C>(arguments_of<id>(a), i);
  }
  template <int k>
  __device__ static void run_root(const Arguments& a) {
    constexpr int id = S::root(k), first = first_block<k>(), blocks = blocks_of<id>();
    if (int(blockIdx.x) < first || int(blockIdx.x) >= first + blocks) return;
    using C = typename S::template CallAt<id>;
    constexpr int lanes = lanes_of<id>(), neighbours = element_neighbours<C>();
    constexpr long count = result_count<C>(1) / neighbours;
    const long own = ((long(blockIdx.x) - first) * threads + threadIdx.x) / lanes;
    if constexpr (C::Op::effect && !S::is_update(id)) {
      if (own < count) SampleWork<typename C::Op>::template update<C>(arguments_of<id>(a), own * neighbours);
    } else {
      if (lanes == 1 && own >= count) return;
      const float total =
          element<sum_of<id>()>(a, own < count ? own : count - 1);  // lanes of a warp compute it together
      if (own >= count || int(threadIdx.x) % lanes != 0) return;
      if constexpr (S::is_update(id)) SampleWork<typename C::Op>::template update<C>(arguments_of<id>(a), own, total);
      else reinterpret_cast<float*>(in_global<G, id>(a, 0))[own] = total;
    }
  }
};

template <class G>
struct SampleKernels {
  using S = SampleGraph<G>;
  using Key = SampleKeyOf<G>;
  static constexpr int shared_bytes = S::shared_bytes();

  static void run(const Arguments& a, long, long) {
    static_cast<void>(sizeof(detail::KnownGraph<G>));
    const int ranks = blocks_of_sample(a.n);
    SampleBlocks<Key, S::immediates()> steps{ranks,
                                             std::uint32_t(((std::uint64_t(1) << 32) + ranks - 1) / ranks),
                                             {}};  // no name of a member: nvcc would write it with the type of G
    for (int id = 0; id < G::graph.count; ++id)
      if (const int at = S::immediate_at(id); at >= 0) steps.immediate[at] = G::graph[id].immediate;
    launch_blocks(steps, a, a.n * ranks, shared_bytes, sample_threads, ranks);
    if constexpr (S::roots() > 0) launch_blocks<BatchSteps<Key>>(a, BatchSteps<Key>::blocks());
  }
  /// As many as can run for all samples at the same time.
  static int blocks_of_sample(long n) {
    if constexpr (S::shares()) {
      for (int blocks = most_sample_blocks; blocks > 1; --blocks)
        if (n <= clusters_at_once<SampleBlocks<Key, S::immediates()>>(blocks, shared_bytes)) return blocks;
    }
    return 1;
  }
  static long workspace(long n) { return S::parts() * n * long(sizeof(float)); }
  static bool fits() {
    if constexpr (shared_bytes <= 48 * 1024) return true;
    else return shared_bytes <= queues().shared_bytes;
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct PerSample<Cuda> {
  static constexpr long most_bytes = kernel::cuda::most_sample_bytes;
  template <class C>
  static constexpr SampleRole role() {
    return kernel::cuda::sample_role<C>();
  }
  template <class G>
  static constexpr SampleGroup group(int begin, int end) {
    using Kernels = kernel::cuda::SampleKernels<G>;
    return {begin, end, &Kernels::run, &Kernels::workspace, &Kernels::fits};
  }
};

}  // namespace tenon
TENON_EXACT_END
