// The queues of each GPU.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include <tenon/backend/cuda/probe.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Streams of one GPU: kernels; copies to it beside them. They live as long as the program, once made.
struct Queues {
  cudaStream_t kernels = nullptr, in = nullptr;
  cudaEvent_t before_copy = nullptr;       // beside kernels
  bool overlaps = false;                   // Running::overlaps, of code for Hopper and newer
  int shared_bytes = 0;                    // that a block can have
  bool has_clusters = false;               // of blocks, of code for Hopper and newer
  std::atomic<bool> fresh_memory = false;  // allocated since the last copy beside
  std::mutex mutex;                        // of the event
  std::mutex calls;  // held while the kernels of a call are started: they may share memory of a lane (lane_memory.hpp)

  Queues() = default;
  ~Queues() {  // of those that could not be made
    for (const cudaStream_t stream : {kernels, in})
      if (stream) forget(cudaStreamDestroy(stream));
    if (before_copy) forget(cudaEventDestroy(before_copy));
  }
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
};

/// Which GPUs there are. Throws RuntimeError, in one sentence, if there is none that this program can use.
inline int count_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver)
    throw_error<RuntimeError>(
        "device_target 'GPU' needs NVIDIA's driver 580 or newer, which CUDA 13 needs: there is none, or an older one "
        "(nvidia-smi shows it).");
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw_error<RuntimeError>("device_target 'GPU' needs an NVIDIA GPU, and CUDA finds none",
                              visible ? ": CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "'." : ".");
  }
  check(error, "cudaGetDeviceCount");
  return std::min(count, 64);
}

/// The number of the GPU that this thread uses; -1: none yet.
inline int& device_of_thread() {
  thread_local int device = -1;
  return device;
}
inline void use_device(int device) {
  int& current = device_of_thread();
  if (current == device) return;
  if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) {
    forget(error);
    count_devices();  // says why, if there is none
    check(error, "cudaSetDevice");
  }
  current = device;
}
/// Set in the child of a process that has used a GPU before it forked.
inline std::atomic<bool> lost_in_fork = false, used = false;

/// By device; null: it has none yet.
inline std::array<std::atomic<Queues*>, 64>& all_queues() {
  static auto* const all = new std::array<std::atomic<Queues*>, 64>{};
  return *all;
}
inline Queues& make_queues(int device) {
  static std::mutex mutex;
  std::atomic<Queues*>& at = all_queues()[std::size_t(device)];
  if (Queues* const made = at.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(mutex);
  if (Queues* const made = at.load(std::memory_order_acquire)) return *made;
  auto queues = std::make_unique<Queues>();
  for (cudaStream_t* stream : {&queues->kernels, &queues->in})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&queues->before_copy, cudaEventDisableTiming), "cudaEventCreate");
  int generation = 0;
  check(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  // older code neither waits for the kernel before (wait_for_kernel_before) nor for its cluster
  queues->overlaps = queues->has_clusters = generation >= 9 && compiled_generation() >= 9;
  check(cudaDeviceGetAttribute(&queues->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  cudaMemPool_t pool{};
  check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all_of_it = ~std::uint64_t{0};  // memory that tensors let go stays for the next ones
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all_of_it), "cudaMemPoolSetAttribute");
  probe_options(queues->kernels);
  used = true;
  at.store(queues.get(), std::memory_order_release);
  return *queues.release();  // for ever: static tensors may die last of all
}
/// Those of the GPU that this thread uses.
inline Queues& queues() {
  if (lost_in_fork.load(std::memory_order_relaxed)) [[unlikely]]
    throw_error<RuntimeError>(
        "A process that has used a GPU has forked, and its child cannot use it: CUDA does not survive a fork. Start "
        "the child by exec, or before the first use of the GPU.");
  if (device_of_thread() < 0) use_device(0);
  return make_queues(device_of_thread());
}

}  // namespace tenon::kernel::cuda
