// A few bytes on their way to the host, which a kernel writes there: a copy of the runtime would be several calls.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include <tenon/backend/cuda/step/queues.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Writes to pinned memory of the host; `done` after the bytes, for a thread of the host that looks at it at any time.
template <int threads>
__global__ void __launch_bounds__(threads)
    run_send_to_host(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>* done) {
  for (std::size_t i = threadIdx.x; i < bytes; i += threads) to[i] = from[i];
  __syncthreads();
  if (threadIdx.x > 0) return;
#if defined(TENON_CUDA_EMULATOR)
  done->store(true, std::memory_order_release);
#else
  static_assert(sizeof *done == sizeof(bool));
  __threadfence_system();
  *reinterpret_cast<volatile bool*>(done) = true;
#endif
}
/// After all kernels in the queue: this is no programmatic launch, which could start before they end.
inline void send_to_host(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
  constexpr int threads = 32;
  const cudaStream_t stream = queues().kernels;
#if defined(TENON_CUDA_EMULATOR)
  emulator::next_body = nullptr;
  emulator::launch(stream, 1, threads, 0, 1, run_send_to_host<threads>, to, from, bytes, &done);
  check(cudaGetLastError(), "the launch of a kernel");
#else
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = threads, config.stream = stream;
  check(cudaLaunchKernelEx(&config, run_send_to_host<threads>, to, from, bytes, &done), "the launch of a kernel");
#endif
}
/// The kernel notifies nobody: the thread looks again and again, and sleeps in between if that takes long. After an
/// error of a kernel `done` would never come; the queue says so.
inline void wait_until(const std::atomic<bool>& done) {
  const cudaStream_t stream = queues().kernels;
  for (long turn = 1; !done.load(std::memory_order_acquire); ++turn) {
    if (turn <= 64) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (turn % 16 > 0) continue;
    const cudaError_t error = cudaStreamQuery(stream);
    if (error != cudaErrorNotReady) return check(error, "a kernel or copy");
    forget(error);
  }
}

}  // namespace tenon::kernel::cuda
