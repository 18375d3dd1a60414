// The queues of each GPU, and what copies need beside them.
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
#include <vector>

#include <tenon/backend/cuda/probe.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Pinned places from which few bytes are copied to a GPU, in turn: a copy from ordinary memory would wait until all
/// queued kernels have run.
class StagingPlaces {
 public:
  static constexpr std::size_t bytes = 4096;

  void copy(void* to, const std::byte* from, std::size_t count, cudaStream_t stream) {
    if (!memory_) {
      void* memory = nullptr;
      check(cudaMallocHost(&memory, places * bytes), "cudaMallocHost");
      memory_ = static_cast<std::byte*>(memory);
    }
    const std::size_t place = next_++ % places;
    cudaEvent_t& copied = copied_[place];
    if (copied) check(cudaEventSynchronize(copied), "a kernel or copy");
    else check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "cudaEventCreate");
    std::memcpy(memory_ + place * bytes, from, count);
    check(cudaMemcpyAsync(to, memory_ + place * bytes, count, cudaMemcpyHostToDevice, stream), "a copy to the GPU");
    check(cudaEventRecord(copied, stream), "cudaEventRecord");
  }

 private:
  static constexpr std::size_t places = 64;
  std::byte* memory_ = nullptr;
  cudaEvent_t copied_[places]{};
  std::size_t next_ = 0;
};

/// Streams of one GPU: kernels; copies to it beside them; copies back. They live as long as the program, once made.
struct Queues {
  cudaStream_t kernels = nullptr, in = nullptr, back = nullptr;
  cudaEvent_t before_copy = nullptr, after_copy = nullptr;  // of copies back
  bool overlaps = false;                                    // Running::overlaps, of Hopper and newer
  int shared_bytes = 0;                                     // that a block can have
  bool has_clusters = false;                                // of blocks, of Hopper and newer
  std::atomic<bool> fresh_memory = false;                   // allocated since the last copy beside
  StagingPlaces staging{};
  std::mutex mutex;  // of the two events and of the staging places

  Queues() = default;
  ~Queues() {  // of those that could not be made
    for (const cudaStream_t stream : {kernels, in, back})
      if (stream) forget(cudaStreamDestroy(stream));
    for (const cudaEvent_t event : {before_copy, after_copy})
      if (event) forget(cudaEventDestroy(event));
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

inline Queues& make_queues(int device) {
  static std::mutex mutex;
  static std::array<std::atomic<Queues*>, 64>* const all = new std::array<std::atomic<Queues*>, 64>{};
  std::atomic<Queues*>& at = (*all)[std::size_t(device)];
  if (Queues* const made = at.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(mutex);
  if (Queues* const made = at.load(std::memory_order_acquire)) return *made;
  auto queues = std::make_unique<Queues>();
  for (cudaStream_t* stream : {&queues->kernels, &queues->in, &queues->back})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
  for (cudaEvent_t* event : {&queues->before_copy, &queues->after_copy})
    check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
  int generation = 0;
  check(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  queues->overlaps = queues->has_clusters = generation >= 9;
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

/// Pinned memory for copies back, kept for the next ones.
class PinnedBlocks {
 public:
  static PinnedBlocks& instance() {
    static PinnedBlocks* const blocks = new PinnedBlocks;
    return *blocks;
  }
  std::byte* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < free_.size(); ++i)
        if (free_[i].bytes >= bytes && free_[i].bytes <= 2 * std::max<std::size_t>(bytes, least)) {
          std::byte* const block = free_[i].block;
          taken_.push_back(free_[i]);
          free_.erase(free_.begin() + long(i));
          return block;
        }
    }
    void* fresh = nullptr;
    check(cudaMallocHost(&fresh, std::max(bytes, least)), "cudaMallocHost");
    const std::lock_guard lock(mutex_);
    taken_.push_back({static_cast<std::byte*>(fresh), std::max(bytes, least)});
    return static_cast<std::byte*>(fresh);
  }
  void give_back(std::byte* block) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(taken_.begin(), taken_.end(), [&](const Block& each) { return each.block == block; });
    free_.push_back(*at);
    taken_.erase(at);
  }

 private:
  static constexpr std::size_t least = 4096;
  struct Block {
    std::byte* block;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> free_, taken_;
};

}  // namespace tenon::kernel::cuda
