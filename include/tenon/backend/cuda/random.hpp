// Random numbers: a thread has the elements of one Philox block.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/core/random/random_number.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RandomNumbers;
}

namespace kernel::cuda {
template <class C>
struct DrawNumbers {
  static constexpr int threads = 128;
  static long blocks(long n) {
    return blocks_for(blocks_for(result_count<C>(n), math::random_group) * math::random_lanes, threads);
  }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    constexpr RandomKind kind = C::config().kind;
    constexpr int low = C::config().low, bound = C::config().bound;
    const long at = thread_of_grid(), count = result_count<C>(a.n),
               first = at / math::random_lanes * math::random_group + at % math::random_lanes;
    if (first >= count) return;
    const std::uint64_t* const state = a.operand<std::uint64_t>(1);
    const std::uint64_t key = hash_number(a.immediate, state[0]), step = state[1];
    const Philox4 drawn = philox(key, static_cast<std::uint64_t>(at), step);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (const long i = first + k * math::random_lanes; i < count)
        a.result<T>()[i] =
            math::random_element<T, kind>(drawn, k, key, static_cast<std::uint64_t>(i), step, low, bound);
  }
};
}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::RandomNumbers> : kernel::cuda::Launches<kernel::cuda::DrawNumbers> {};

}  // namespace tenon
TENON_EXACT_END
