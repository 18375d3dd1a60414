// Memory of a GPU that kernels need for a moment, for each lane of a recorded step.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

#include <tenon/backend/cuda/step/queues.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Memory that a call needs beside its operands and is no part of a plan. Each lane of a GPU has its own: calls of two
/// lanes can run at the same time. Threads have one queue, and Queues::calls keeps their calls apart. None is given
/// back, because CUDA graphs keep addresses.
class LaneMemory {
 public:
  enum Use : int { products, workspace, segments, call, ranks };
  static std::byte* take(Use use, std::size_t bytes) {
    static LaneMemory* const all = new LaneMemory;  // for ever, as the queues
    return all->find({device_of_thread(), running().lane, use}, bytes);
  }

 private:
  struct Place {
    int device, lane;
    Use use;
    bool operator==(const Place&) const = default;
  };
  struct Block {
    Place place;
    std::byte* memory;
    std::size_t bytes;
  };
  std::byte* find(const Place& place, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_)
      if (block.place == place && block.bytes >= bytes) return block.memory;
    // Allocated beside the recording of a CUDA graph, if there is one; a little more, so that few are made.
    bytes += bytes / 2;
    void* memory = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    const cudaError_t error = cudaMallocAsync(&memory, bytes, queues().kernels);
    check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    check_memory(error, bytes);
    blocks_.push_back({place, static_cast<std::byte*>(memory), bytes});
    return blocks_.back().memory;
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace tenon::kernel::cuda
