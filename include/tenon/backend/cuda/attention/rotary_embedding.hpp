// Rotary positions: a thread for each pair of features.
#pragma once
#include <tenon/backend/cpu/attention/rotary_embedding.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {
template <class C>
struct TurnPairs {
  using Layout = RotaryLayout<C>;
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(result_count<C>(n) / 2, threads); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    using P = typename C::template Operand<1>;
    using A = Compute<T>;
    constexpr long half = Layout::half, pairs = Layout::features / 2, width = Layout::width;
    constexpr bool inverse = Layout::inverse;
    const long pair = thread_of_grid(), row = pair / pairs, i = pair % half;
    if (2 * pair >= result_count<C>(a.n)) return;
    const P* const angles = a.operand<P>(1) + Layout::position(a, row) * width;
    const A c = static_cast<A>(angles[i]), s = static_cast<A>(inverse ? -angles[half + i] : angles[half + i]);
    const long base = pair / half * width;
    const A p = static_cast<A>(a.operand<T>(0)[base + Layout::first(i)]),
            q = static_cast<A>(a.operand<T>(0)[base + Layout::second(i)]);
    a.result<T>()[base + Layout::first(i)] = static_cast<T>(p * c - q * s);
    a.result<T>()[base + Layout::second(i)] = static_cast<T>(q * c + p * s);
  }
};
}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::RotaryEmbedding> : kernel::cuda::Launches<kernel::cuda::TurnPairs> {};

}  // namespace tenon
TENON_EXACT_END
