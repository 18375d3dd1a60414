// A few bytes on their way between the host and a GPU, which a kernel takes along: a copy of the runtime would be
// several calls, and one from ordinary memory would wait until all queued kernels have run.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include <tenon/backend/cuda/step/queues.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

namespace detail {
/// Starts a block after all kernels in the queue: this is no programmatic launch, which could start before they end.
template <class... Parameters, class... Values>
void start_in_order(void (*function)(Parameters...), int threads, const Values&... values) {
  const cudaStream_t stream = queues().kernels;
#if defined(TENON_CUDA_EMULATOR)
  emulator::next_body = nullptr;
  emulator::launch(stream, 1, threads, 0, 1, function, values...);
  check(cudaGetLastError(), "the launch of a kernel");
#else
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = unsigned(threads), config.stream = stream;
  check(cudaLaunchKernelEx(&config, function, values...), "the launch of a kernel");
#endif
}
}  // namespace detail

/// Bytes in the arguments of a kernel.
template <int most>
struct alignas(16) BytesToPut {
  std::uint32_t word[most / 4];
};
template <int most, int threads>
__global__ void __launch_bounds__(threads)
    run_put_bytes(std::byte* to, const __grid_constant__ BytesToPut<most> given, int bytes) {
  const auto* const from = reinterpret_cast<const std::byte*>(given.word);
  if (reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    for (int i = int(threadIdx.x); i < bytes / 4; i += threads) reinterpret_cast<std::uint32_t*>(to)[i] = given.word[i];
  } else {
    for (int i = int(threadIdx.x); i < bytes / 4 * 4; i += threads) to[i] = from[i];
  }
  for (int i = bytes / 4 * 4 + int(threadIdx.x); i < bytes; i += threads) to[i] = from[i];
}
/// More bytes need more kernels: what a kernel has as arguments is 4 KB.
inline constexpr int most_put_bytes = 3584;
template <int most>
void put_bytes_as(std::byte* to, const std::byte* from, int bytes) {
  constexpr int threads = 128;
  BytesToPut<most> given;
  std::memcpy(given.word, from, std::size_t(bytes));
  detail::start_in_order(run_put_bytes<most, threads>, threads, to, given, bytes);
}
/// Copies from memory that the host may change at once.
inline void put_bytes(std::byte* to, const std::byte* from, int bytes) {
  constexpr int few = 256;
  if (bytes <= few) put_bytes_as<few>(to, from, bytes);
  else put_bytes_as<most_put_bytes>(to, from, bytes);
}

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
inline void send_to_host(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
  constexpr int threads = 32;
  detail::start_in_order(run_send_to_host<threads>, threads, to, from, bytes, &done);
}
/// A kernel cannot notify a thread of the host, so the thread polls `done`, and sleeps between two polls after a while.
/// If a kernel has failed, `done` is never set: then the queue reports the error.
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
