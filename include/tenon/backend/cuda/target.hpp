// The target Cuda: an NVIDIA GPU, with the bits of the CPU.
#pragma once
#include <atomic>
#include <new>
#include <string_view>

#include <tenon/backend/cuda/fast/fast_math.hpp>
#include <tenon/backend/cuda/step/few_bytes.hpp>
#include <tenon/backend/cuda/step/step.hpp>
#include <tenon/core/memory/row_gather.hpp>

namespace tenon::inline TENON_ABI {

/// A GPU, in a program that nvcc compiles with -DTENON_TARGET=cuda: set_context({.device_target = "GPU"}). `device_id`
/// counts among CUDA_VISIBLE_DEVICES. In float32 results are equal to the CPU's, bit for bit (docs/bits.md).
struct Cuda {
  static constexpr std::string_view name = "GPU";
  static constexpr bool has_bits_of_cpu = true;
  static constexpr int memory_rests = 8;  // more shorten no chain of calls in the networks of benchmarks/models

  static int devices() { return kernel::cuda::count_devices(); }
  static void use_device(int device) { kernel::cuda::use_device(device); }

  /// Throws RuntimeError if the program or this machine lacks what Math::tf32 needs.
  static void check_math(Math) { kernel::cuda::need_fast_math().check(); }

  /// Throws OutOfMemory with what is free.
  static std::byte* allocate(std::size_t bytes) {
    kernel::cuda::Queues& on = kernel::cuda::queues();
    void* block = nullptr;
    const cudaError_t error = cudaMallocAsync(&block, bytes, on.kernels);
    kernel::cuda::check_memory(error, bytes);
    on.fresh_memory = true;
    return static_cast<std::byte*>(block);
  }
  /// After all kernels that are in the queue.
  static void free(std::byte* block) {
    if (kernel::cuda::lost_in_fork) return;
    kernel::cuda::forget(cudaFreeAsync(block, kernel::cuda::queues().kernels));
  }
  static std::byte* allocate_pinned(std::size_t bytes) {
    void* block = nullptr;
    kernel::cuda::queues();
    const cudaError_t error = cudaMallocHost(&block, bytes);
    kernel::cuda::forget(error);
    if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
    kernel::cuda::check(error, "cudaMallocHost");
    return static_cast<std::byte*>(block);
  }
  static void free_pinned(std::byte* block) { kernel::cuda::forget(cudaFreeHost(block)); }

  static void* make_event() {
    cudaEvent_t event = nullptr;
    kernel::cuda::queues();
    kernel::cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    return event;
  }
  static void free_event(void* event) { kernel::cuda::forget(cudaEventDestroy(static_cast<cudaEvent_t>(event))); }
  static void wait_event(void* event) {
    kernel::cuda::check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "a kernel or copy");
  }

  /// Copies up to this size are one call, and wait for nothing.
  static constexpr std::size_t few_bytes = kernel::cuda::most_put_bytes;
  /// From memory that the host may change at once. A large copy may read it when the queue has come to that: where the
  /// runtime brings it to pinned memory first it waits for the queue, too, but a GPU that reads the memory of processes
  /// itself (Grace Hopper, or Linux with HMM) needs no such place.
  static void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes <= few_bytes) return kernel::cuda::put_bytes(to, from, int(bytes));
    const cudaStream_t stream = kernel::cuda::queues().kernels;
    kernel::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "a copy to the GPU");
    kernel::cuda::check(cudaStreamSynchronize(stream), "a kernel or copy");
  }
  static void copy_out(std::byte* to, const std::byte* from, std::size_t bytes) {
    const cudaStream_t stream = kernel::cuda::queues().kernels;
    kernel::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "a copy from the GPU");
    kernel::cuda::check(cudaStreamSynchronize(stream), "a kernel or copy");
  }
  /// `to` and `done` are pinned.
  static void copy_out_later(std::byte* to, const std::byte* from, std::size_t bytes, std::atomic<bool>& done) {
    kernel::cuda::send_to_host(to, from, bytes, done);
  }
  /// Until a copy_out_later() has set `done`. Throws what a kernel has thrown.
  static void wait_until(const std::atomic<bool>& done) { kernel::cuda::wait_until(done); }
  static void copy_within(std::byte* to, const std::byte* from, std::size_t bytes) {
    kernel::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, kernel::cuda::queues().kernels),
                        "a copy on the GPU");
  }
  static void copy_beside(std::byte* to, const std::byte* from, std::size_t bytes, void* after, void* copied) {
    kernel::cuda::Queues& on = kernel::cuda::queues();
    if (on.fresh_memory.exchange(false)) {  // it may have been another tensor's, which kernels still read
      const std::lock_guard lock(on.mutex);
      kernel::cuda::check(cudaEventRecord(on.before_copy, on.kernels), "cudaEventRecord");
      kernel::cuda::check(cudaStreamWaitEvent(on.in, on.before_copy, 0), "cudaStreamWaitEvent");
    }
    kernel::cuda::check(cudaStreamWaitEvent(on.in, static_cast<cudaEvent_t>(after), 0), "cudaStreamWaitEvent");
    kernel::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, on.in), "a copy to the GPU");
    kernel::cuda::check(cudaEventRecord(static_cast<cudaEvent_t>(copied), on.in), "cudaEventRecord");
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    kernel::cuda::queues();
    kernel::cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }
  static void gather(const GatheredRows& rows);  // gather_rows.hpp
  static void wait() {
    kernel::cuda::Queues& on = kernel::cuda::queues();
    for (const cudaStream_t stream : {on.kernels, on.in})
      kernel::cuda::check(cudaStreamSynchronize(stream), "a kernel or copy");
  }

  template <class Step>
  static kernel::cuda::Begun<Step> begin(const Step& step) {
    return {step};
  }

  static void before_fork() {
    if (kernel::cuda::lost_in_fork) return;
    const int current = kernel::cuda::device_of_thread();
    for (int device = 0; device < int(kernel::cuda::all_queues().size()); ++device)
      if (kernel::cuda::all_queues()[std::size_t(device)]) use_device(device), wait();
    if (current >= 0) use_device(current);
  }
  static void after_fork(bool in_child) {
    if (in_child && kernel::cuda::used) kernel::cuda::lost_in_fork = true;
  }
};

namespace kernel::cuda {
using Target = Cuda;
}

}  // namespace tenon
