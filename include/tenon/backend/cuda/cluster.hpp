// Blocks of a cluster: they run at the same time, and reach each other's shared memory. GPUs have them since Hopper.
#pragma once
#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// The number of this block in its cluster of `ranks`.
__device__ inline int rank_in_cluster(int ranks) { return ranks > 1 ? int(blockIdx.x) % ranks : 0; }
/// This thread has done what others of the cluster wait for.
__device__ inline void arrive_at_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
/// The same at the begin, before this thread has written or read anything.
__device__ inline void begin_in_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}
/// Waits until all threads of the cluster have arrived. Each calls it once after it has arrived.
__device__ inline void wait_for_cluster() {
#if defined(TENON_CUDA_EMULATOR)
  emulator::wait_for_cluster();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
/// What block `rank` of the cluster has at the place of `own`, which is in the dynamic shared memory of this block.
template <class T>
__device__ T* in_block_of_cluster(T* own, int rank) {
#if defined(TENON_CUDA_EMULATOR)
  std::byte* const base = emulator::dynamic_shared(rank);
  return reinterpret_cast<T*>(base + (reinterpret_cast<std::byte*>(own) - emulator::dynamic_shared()));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  T* other;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(own), "r"(rank));
  return other;
#else
  return own;
#endif
}

}  // namespace tenon::kernel::cuda
