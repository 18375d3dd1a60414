// Copies from global to shared memory that pass through no registers where the device can do that.
#pragma once
#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// What comes before is loaded before what comes after begins. nvcc would start a few loads at a time to save
/// registers, and wait for each of them.
__device__ inline void wait_for_loads() {
#if defined(__CUDA_ARCH__)
  asm volatile("membar.cta;" ::: "memory");
#endif
}
/// The value, which nvcc keeps in a register. Else it computes it again wherever it is needed, to save registers.
template <class T>
__device__ T kept_in_register(T value) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) asm volatile("" : "+l"(value));
  else asm volatile("" : "+r"(value));
#endif
  return value;
}
/// Starts to copy a float, or a zero if it is not `there`. Nothing is read then.
__device__ inline void copy_async(float* to, const float* from, bool there) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned at = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(there ? 4 : 0) : "memory");
#else
  *to = there ? *from : 0.0f;
#endif
}
/// Whether fours of floats can be copied from there: an operand may begin inside of a tensor.
inline bool has_fours(const float* from) { return reinterpret_cast<std::uintptr_t>(from) % (4 * sizeof(float)) == 0; }
/// The same for four neighbours, both aligned to 16 bytes.
__device__ inline void copy_four_async(float* to, const float* from, bool there) {
#if defined(TENON_CUDA_EMULATOR)
  emulator::check_aligned(to, 4 * sizeof(float)), emulator::check_aligned(from, 4 * sizeof(float));
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned at = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there ? 16 : 0) : "memory");
#else
  for (int i = 0; i < 4; ++i) to[i] = there ? from[i] : 0.0f;
#endif
}
/// Waits for all copies that this thread has started. Those of other threads are there after a barrier that follows.
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/// The copies since the last call are a group.
__device__ inline void end_group_of_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// The same as wait_for_copies() for all groups but the last `most` ones.
template <int most>
__device__ inline void wait_for_groups_but() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(most) : "memory");
#endif
}

}  // namespace tenon::kernel::cuda
