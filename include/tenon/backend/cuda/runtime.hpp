// The CUDA runtime as the target Cuda uses it: errors as exceptions, and where kernels are started at the moment.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/context/math.hpp>
#include <tenon/core/error.hpp>

#if !defined(__CUDACC__) && !defined(TENON_CUDA_EMULATOR)
#include <The target Cuda needs nvcc (CUDA 13 or newer): compile this source as CUDA (docs/cuda.md)>
#endif

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Forgets an error that has been told, or that the next call tells again.
inline void forget(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail(cudaError_t error, const char* what) {
  forget(error);
  throw_error<RuntimeError>("GPU: ", what, " failed: ", cudaGetErrorString(error), " (", cudaGetErrorName(error),
                            "). After an error of a kernel the process can no longer use the GPU: start it again, "
                            "with CUDA_LAUNCH_BLOCKING=1 to learn which kernel it was.");
}
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(error, what);
}
/// Checks the result of cudaMallocAsync for `bytes`. Throws OutOfMemory, which says how much is free.
inline void check_memory(cudaError_t error, std::size_t bytes) {
  if (error != cudaErrorMemoryAllocation) return check(error, "cudaMallocAsync");
  forget(error);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  throw_error<OutOfMemory>("GPU has no room for another ", bytes, " bytes: ", free, " of ", total,
                           " bytes are free. Use a smaller batch, or let tensors go.");
}

/// A call that is looked at instead of started.
struct SeenCall {
  long kernels = 0;                                        // that it would start
  void (*start)(const void* parts, long count) = nullptr;  // how, if they are parts of a launch (parts.hpp)
  std::vector<std::byte> part{};
};

/// Where launch_blocks() starts kernels, in this thread.
struct Running {
  cudaStream_t stream = nullptr;
  const std::int32_t* unless = nullptr;  // in the device's memory
  bool overlaps = false;                 // a kernel may start its blocks before all those of the last one have ended
  Math math = Math::exact;
  int lane = 0;              // of a CUDA graph that is recorded: calls of two lanes may run at the same time
  SeenCall* seen = nullptr;  // if given, nothing is started: this learns what would be
};
inline Running& running() {
  thread_local Running now;
  return now;
}
/// f() with another Running.
template <class F>
void run_with(const Running& other, F f) {
  struct Restored {
    Running before = running();
    ~Restored() { running() = before; }
  } const restored;
  running() = other;
  f();
}

}  // namespace tenon::kernel::cuda
