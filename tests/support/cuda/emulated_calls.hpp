// The calls of the CUDA runtime that Tenon uses. Streams run at once what they get; one that is recorded keeps it.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "failing_function.hpp"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnjoined = 904,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr {
  cudaDevAttrMaxPitch = 11,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1, cudaStreamCaptureModeRelaxed = 2 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

namespace emulator {

/// What a stream records: each work with those that it waits for.
struct Work {
  struct Item {
    std::function<void()> run;
    std::vector<std::size_t> after;
    const char* body;  // the type of the kernel's body; null: it is no kernel
  };
  std::vector<Item> items{};
  std::vector<struct Stream*> streams{};
};
struct Stream {
  Work* recorded = nullptr;
  std::vector<std::size_t> last{};  // what the next work waits for
};
struct Event {
  Work* recorded = nullptr;
  std::vector<std::size_t> last{};
};

/// Tests set it: how many devices there are, or with what error asking for them fails.
inline int devices = 1;
inline cudaError_t devices_error = cudaSuccess;
/// Bytes of shared memory that a block can have, of devices that are used later. EMULATED_SHARED_BYTES sets it, too.
inline int shared_bytes = [] {
  const char* const given = std::getenv("EMULATED_SHARED_BYTES");
  return given ? std::atoi(given) : 227 << 10;
}();
/// Tests set it: for which GPUs the kernels are compiled, as a compute capability without its point.
inline int compiled_for = 90;
/// Tests set it: bytes from row to row that a copy of rows may have.
inline int most_pitch = 0x7fffffff;
/// Tests set it: how many blocks of clusters run at the same time.
inline int multiprocessors = 7;
/// Tests set both: how many calls succeed before one fails, and with what error. -1: no call fails.
inline long calls_until_failure = -1;
inline cudaError_t failure = cudaErrorLaunchFailure;
/// Calls so far; blocks of memory, streams, events, and recorded graphs that were made and not freed, and graphs that
/// can be launched.
inline long calls = 0, alive = 0, executables = 0, graph_launches = 0;
inline cudaError_t last_error = cudaSuccess;
/// Tests that only look at recorded graphs set it to false. Memory is then zeros. What is launched without the name of
/// a body runs: it is a copy, for which the host waits.
inline bool kernels_run = true;
/// Tests set it: such copies do not run either, as after an error of a kernel.
inline bool copies_are_lost = false;
/// The graph that was launched last.
inline const Work* launched = nullptr;

/// The event that was recorded last. Tests set how many more questions whether it is there are answered with no.
inline const Event* last_event = nullptr;
inline long last_event_is_late = 0;
/// Tests set how many more questions whether all in a stream is done are answered with no.
inline long streams_are_late = 0;

/// Tests set it: bytes of memory that the device says it has left.
inline std::size_t free_bytes = 1 << 20;

/// The bytes of memory that nothing was written to yet: floats that are NaN.
inline constexpr int unwritten = 0xff;

/// Blocks of the device's memory.
class DeviceBlocks {
 public:
  void add(const void* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_[static_cast<const std::byte*>(block)] = bytes;
  }
  void remove(const void* block) {
    const std::lock_guard lock(mutex_);
    bytes_.erase(static_cast<const std::byte*>(block));
  }
  std::map<const std::byte*, std::size_t> all() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  bool has(const std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto at = bytes_.upper_bound(data);
    return at != bytes_.begin() && data + bytes <= (--at)->first + at->second;
  }

 private:
  std::mutex mutex_;
  std::map<const std::byte*, std::size_t> bytes_;
};
inline DeviceBlocks& device_blocks() {
  static auto* const blocks = new DeviceBlocks;  // static tensors may die last of all
  return *blocks;
}
inline bool is_device_memory(const std::byte* data, std::size_t bytes) { return device_blocks().has(data, bytes); }

/// The names of those that have failed because a test asked for it; how many of them give something back for good.
inline std::set<std::string> failed_calls;
inline long failed_frees = 0;

/// Of the emulated NCCL: groups that are begun and not ended, calls whose work is not done. The runtime must not be
/// asked for anything then.
inline std::atomic<int> open_groups = 0, works_in_progress = 0;

inline cudaError_t call(const char* name = __builtin_FUNCTION()) {
  ++calls;
  if (open_groups + works_in_progress > 0) {
    std::fprintf(stderr, "%s inside of a group of NCCL, or while its calls are in progress\n", name);
    std::abort();
  }
  if (failing_function == name) failing_function.clear();
  else if (calls_until_failure < 0 || calls_until_failure-- > 0) return cudaSuccess;
  failed_calls.insert(name);
  failed_frees += std::strstr(name, "Free") || (std::strstr(name, "Destroy") && !std::strstr(name, "Exec"));
  return last_error = failure;
}
template <class F>
cudaError_t call(F f, const char* name = __builtin_FUNCTION()) {
  const cudaError_t error = call(name);
  if (error == cudaSuccess) f();
  return error;
}
/// The same for what frees `block`: a driver keeps what it could not free.
template <class F>
cudaError_t free(const void* block, F f, const char* name = __builtin_FUNCTION()) {
  static auto* const kept = new std::vector<const void*>;
  const cudaError_t error = call(f, name);
  if (error != cudaSuccess) kept->push_back(block);
  return error;
}
/// The type of the body of the kernel that is launched next.
inline const char* next_body = nullptr;
template <class F>
void put(Stream* stream, F f, const char* body = nullptr) {
  if (!stream || !stream->recorded) return f();
  stream->recorded->items.push_back({std::move(f), stream->last, body});
  stream->last = {stream->recorded->items.size() - 1};
}
/// TENON_EMULATOR_SEED, or 1.
inline unsigned first_seed() {
  const char* const seed = std::getenv("TENON_EMULATOR_SEED");
  return seed ? unsigned(std::atoi(seed)) : 1u;
}
/// Tests and TENON_EMULATOR_SEED set it: another order of works that do not wait for each other, which must not matter.
inline unsigned graph_seed = first_seed();
inline void run_in_some_order(const Work& work) {
  std::vector<bool> done(work.items.size());
  for (std::size_t left = done.size(); left > 0; --left) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < done.size(); ++i) {
      bool waits = done[i];
      for (const std::size_t j : work.items[i].after) waits |= !done[j];
      if (!waits) ready.push_back(i);
    }
    graph_seed = graph_seed * 1664525u + 1013904223u;
    const std::size_t next = ready[(graph_seed >> 8) % ready.size()];
    work.items[next].run();
    done[next] = true;
  }
}
/// Whether the last works of a recorded stream come after all works.
inline bool joined(const Work& work, const Stream& stream) {
  std::vector<bool> reached(work.items.size());
  std::vector<std::size_t> open = stream.last;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (reached[at]) continue;
    reached[at] = true;
    open.insert(open.end(), work.items[at].after.begin(), work.items[at].after.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}
inline cudaError_t clusters_at_once(int* most, int cluster) {
  return call([&] { *most = multiprocessors / cluster; }, "cudaOccupancyMaxActiveClusters");
}
/// A kernel that runs, for who watches: the type of its body, its grid, and the bytes of its arguments.
struct Launch {
  const char* body;
  unsigned blocks;
  int threads, shared_bytes;
  unsigned cluster;
  std::vector<std::string> arguments;
};
/// Programs set it. It is called before a kernel runs, and once more when it is done.
inline void (*watch)(const Launch&, bool done) = nullptr;
template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

void run_grid(unsigned blocks, int threads, int shared_bytes, unsigned cluster, const std::function<void()>& body);
template <class Kernel, class... Values>
void launch(Stream* stream, unsigned blocks, int threads, int shared_bytes, unsigned cluster, Kernel kernel,
            const Values&... values) {
  if (call("cudaLaunchKernelEx") != cudaSuccess) return;
  const auto run = [=, body = next_body] {
    if (body ? !kernels_run : copies_are_lost) return;
    const auto tell = [&](bool done) {
      if (watch) watch({body, blocks, threads, shared_bytes, cluster, {bytes_of(values)...}}, done);
    };
    tell(false);
    run_grid(blocks, threads, shared_bytes, cluster, [&] { kernel(values...); });
    tell(true);
  };
  put(stream, run, next_body);
}

}  // namespace emulator

using cudaStream_t = emulator::Stream*;
using cudaEvent_t = emulator::Event*;
using cudaGraph_t = emulator::Work*;
using cudaGraphExec_t = emulator::Work*;
using cudaMemPool_t = void*;

inline const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "cudaError";
}
inline const char* cudaGetErrorString(cudaError_t) { return "an emulated failure"; }
inline cudaError_t cudaGetLastError() { return std::exchange(emulator::last_error, cudaSuccess); }
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = emulator::devices;
  return emulator::devices_error;
}
inline cudaError_t cudaSetDevice(int device) {
  return device < emulator::devices ? emulator::call() : cudaErrorInvalidDevice;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr asked, int) {
  return emulator::call([&] {
    *value = asked == cudaDevAttrComputeCapabilityMajor ? 9
             : asked == cudaDevAttrMaxPitch             ? emulator::most_pitch
                                                        : emulator::shared_bytes;
  });
}
struct cudaFuncAttributes {
  int ptxVersion;
};
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, Kernel*) {
  return emulator::call([&] { found->ptxVersion = emulator::compiled_for; }, "cudaFuncGetAttributes");
}
inline cudaError_t cudaDeviceGetPCIBusId(char* name, int length, int device) {
  return emulator::call([&] { std::snprintf(name, std::size_t(length), "0000:%02X:00.0", 0x17 + device); });
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = emulator::free_bytes, *total = 1 << 30;
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return emulator::call([&] { *stream = new emulator::Stream, ++emulator::alive; });
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return emulator::free(stream, [&] { delete stream, --emulator::alive; });
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return emulator::call(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) {
  const cudaError_t error = emulator::call();
  return error == cudaSuccess && emulator::streams_are_late-- > 0 ? cudaErrorNotReady : error;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return emulator::call([&] {
    if (!event->recorded) return;
    if (!stream->recorded) event->recorded->streams.push_back(stream);
    stream->recorded = event->recorded;
    stream->last.insert(stream->last.end(), event->last.begin(), event->last.end());
  });
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return emulator::call([&] { *event = new emulator::Event, ++emulator::alive; });
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return emulator::free(event, [&] { delete event, --emulator::alive; });
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return emulator::call([&] {
    event->recorded = stream->recorded, event->last = stream->last;
    emulator::last_event = event;
  });
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return emulator::call(); }
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = emulator::call(); error != cudaSuccess) return error;
  return event == emulator::last_event && emulator::last_event_is_late-- > 0 ? cudaErrorNotReady : cudaSuccess;
}

inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return emulator::call([&] { *pool = nullptr; });
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return emulator::call(); }
inline cudaError_t cudaMallocHost(void** block, std::size_t bytes) {
  return emulator::call([&] { *block = ::operator new(bytes, std::align_val_t(256)), ++emulator::alive; });
}
inline cudaError_t cudaFreeHost(void* block) {
  return emulator::free(block, [&] { ::operator delete(block, std::align_val_t(256)), --emulator::alive; });
}
inline cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t) {
  return emulator::call([&] {
    *block = ::operator new(bytes, std::align_val_t(256)), ++emulator::alive;
    emulator::device_blocks().add(*block, bytes);
    std::memset(*block, emulator::kernels_run ? emulator::unwritten : 0, bytes);
  });
}
inline cudaError_t cudaFreeAsync(void* block, cudaStream_t) {
  return emulator::free(block, [&] {
    emulator::device_blocks().remove(block);
    ::operator delete(block, std::align_val_t(256)), --emulator::alive;
  });
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return emulator::call([&] { emulator::put(stream, [=] { std::memcpy(to, from, bytes); }); });
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (std::max(to_pitch, from_pitch) > std::size_t(emulator::most_pitch)) return cudaErrorInvalidValue;
  return emulator::call([&] {
    emulator::put(stream, [=] {
      for (std::size_t row = 0; row < height; ++row)
        std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    });
  });
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return emulator::call([&] { emulator::put(stream, [=] { std::memset(to, value, bytes); }); });
}

inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeThreadLocal;
  return emulator::call([&] { std::swap(current, *mode); });
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return emulator::call([&] {
    stream->recorded = new emulator::Work{{}, {stream}};
    ++emulator::alive;
  });
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const cudaError_t error = emulator::call();
  emulator::Work* const work = stream->recorded;
  const bool whole = emulator::joined(*work, *stream);
  for (emulator::Stream* each : work->streams) each->recorded = nullptr, each->last.clear();
  if (error == cudaSuccess && whole) return *graph = work, cudaSuccess;
  delete work, --emulator::alive;
  return error != cudaSuccess ? error : emulator::last_error = cudaErrorStreamCaptureUnjoined;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  return emulator::call([&] { *made = new emulator::Work(*graph), ++emulator::executables; });
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return emulator::free(graph, [&] { delete graph, --emulator::alive; });
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return emulator::free(graph, [&] { delete graph, --emulator::executables; });
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  return emulator::call([&] {
    ++emulator::graph_launches;
    emulator::launched = graph;
    emulator::run_in_some_order(*graph);
  });
}
