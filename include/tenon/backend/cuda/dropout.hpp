// Dropout with the CPU's masks: each element by its own random word.
#pragma once
#include <tenon/backend/cpu/elementwise/dropout.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// A thread draws neighbouring blocks of words, as many as elements have 16 bytes. The elements of their first words
/// are neighbours, and so are those of the second, third, and fourth ones (math::draw_words).
template <class C>
struct DropElements {
  using T = typename C::Result;
  static constexpr int threads = 128, together = together_of<T>, threads_of_group = math::random_lanes / together;

  static long blocks(long n) {
    return blocks_for(blocks_for(result_count<C>(n), math::random_group) * threads_of_group, threads);
  }
  __device__ static void block(const Arguments& a) {
    using V = Compute<T>;
    const long count = result_count<C>(a.n), group = thread_of_grid() / threads_of_group,
               first_lane = thread_of_grid() % threads_of_group * together;
    if (group * math::random_group >= count) return;
    const float rate = dropout_rate<C>(a);
    const V scale = V(1) / (V(1) - V(rate));
    const std::uint32_t dropped = dropped_words(rate);
    const std::uint64_t* const state = dropout_state<C>(a);
    const std::uint64_t key = hash_number(a.immediate, state[0]), step = state[1];
    Philox4 drawn[together];
#pragma unroll
    for (int i = 0; i < together; ++i)
      drawn[i] = philox(key, static_cast<std::uint64_t>(group * math::random_lanes + first_lane + i), step);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const long first = group * math::random_group + k * math::random_lanes + first_lane, left = count - first;
      if (left <= 0) return;
      auto own = load_neighbours<together>(a.operand<T>(0), first, left);
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const T scaled = static_cast<T>(static_cast<V>(own.element[i]) * scale);
        own.element[i] = (drawn[i].word[k] >> 8) >= dropped ? scaled : T{};
      }
      store_neighbours(own, a.result<T>(), first, left);
    }
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Dropout> : kernel::cuda::Launches<kernel::cuda::DropElements> {};

}  // namespace tenon
TENON_EXACT_END
