// Copies from global to shared memory that pass through no registers where the device can do that.
#pragma once
#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Starts to copy a float, or a zero if it is not `there`; `from` is a valid address in both cases.
__device__ inline void copy_async(float* to, const float* from, bool there) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned at = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(there ? 4 : 0) : "memory");
#else
  *to = there ? *from : 0.0f;
#endif
}
/// Waits for all copies that this thread has started. Those of other threads are there after a barrier that follows.
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace tenon::kernel::cuda
