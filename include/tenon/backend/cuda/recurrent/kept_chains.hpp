// The weight of a time loop, which a block keeps from step to step: in registers, in shared memory, the rest in memory.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Threads of a block that has work for `count` of them.
constexpr int threads_for(long count) {
  constexpr int most = 512;
  return count < most ? int((count + warp - 1) / warp * warp) : most;
}

/// Chains of `steps` products each, of which thread t has chain t of `chains`: factor p of it is start[p * stride].
/// Of more chains than threads nothing is kept.
template <class A, long steps, long chains, int threads, long stride>
struct KeptChains {
  static constexpr long length = chains <= threads ? steps : 0;
  static constexpr int together = together_of<A>;
  // Of the registers of a thread, and of a block's shared memory.
  static constexpr long most_in_registers = (threads <= 256 ? 128 : 64) * 4 / long(sizeof(A)),
                        most_in_shared = most_shared_bytes / 10 * 7 / long(sizeof(A)) / chains;
  static constexpr long in_registers = (length < most_in_registers ? length : most_in_registers) / together * together,
                        left = length - in_registers,
                        in_shared = left < most_in_shared ? left : most_in_shared / together * together;
  static constexpr long shared = in_shared * chains;

  A weight[in_registers > 0 ? in_registers : 1];
  const A *start, *kept;

  /// `room` has place for `shared` elements.
  __device__ KeptChains(const A* first, A* room) : start(first), kept(room + threadIdx.x) {
    if (threadIdx.x >= chains) return;
#pragma unroll
    for (int p = 0; p < int(in_registers); ++p) weight[p] = start[p * stride];
    for (long p = 0; p < in_shared; ++p) room[p * chains + threadIdx.x] = start[(in_registers + p) * stride];
  }
  /// `total` continued with the products of x[0 .. length - 1], aligned to 16 bytes, and the factors of the chain.
  __device__ A continued(A total, const A* x) const {
    using Group = Neighbours<A, together>;
#pragma unroll
    for (int p = 0; p < int(in_registers); p += together) {
      const Group value = *reinterpret_cast<const Group*>(x + p);
#pragma unroll
      for (int i = 0; i < together; ++i) total = fmadd(value.element[i], weight[p + i], total);
    }
    constexpr long grouped = in_shared / together * together;
#pragma unroll 4
    for (int p = 0; p < int(grouped); p += together) {
      const Group value = *reinterpret_cast<const Group*>(x + in_registers + p);
#pragma unroll
      for (int i = 0; i < together; ++i) total = fmadd(value.element[i], kept[(p + i) * chains], total);
    }
    for (long p = grouped; p < in_shared; ++p) total = fmadd(x[in_registers + p], kept[p * chains], total);
#pragma unroll 8
    for (long p = in_registers + in_shared; p < length; ++p) total = fmadd(x[p], start[p * stride], total);
    return total;
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
