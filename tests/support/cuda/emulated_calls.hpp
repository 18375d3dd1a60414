// The calls of the CUDA runtime that Tenon uses. Streams run at once what they get; one that is recorded keeps it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorLaunchFailure = 719,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

namespace emulator {

using Work = std::vector<std::function<void()>>;
struct Stream {
  bool recording = false;
  Work recorded{};
};

/// Tests set it: how many devices there are, or with what error asking for them fails.
inline int devices = 1;
inline cudaError_t devices_error = cudaSuccess;
/// Tests set it: after so many calls one fails with this error; -1: none does.
inline long calls_until_failure = -1;
inline cudaError_t failure = cudaErrorLaunchFailure;
/// Calls so far, blocks of memory, streams, events, and graphs that were made and not freed.
inline long calls = 0, alive = 0, graph_launches = 0;
inline cudaError_t last_error = cudaSuccess;

inline cudaError_t call() {
  ++calls;
  if (calls_until_failure >= 0 && calls_until_failure-- == 0) return last_error = failure;
  return cudaSuccess;
}
template <class F>
cudaError_t call(F f) {
  const cudaError_t error = call();
  if (error == cudaSuccess) f();
  return error;
}
template <class F>
void put(Stream* stream, F f) {
  if (stream && stream->recording) stream->recorded.emplace_back(std::move(f));
  else f();
}
void run_grid(unsigned blocks, int threads, int shared_bytes, const std::function<void()>& body);
template <class Body>
void launch(Stream* stream, unsigned blocks, int threads, int shared_bytes, Body body) {
  if (call() != cudaSuccess) return;
  put(stream, [=] { run_grid(blocks, threads, shared_bytes, body); });
}

}  // namespace emulator

using cudaStream_t = emulator::Stream*;
using cudaEvent_t = char*;
using cudaGraph_t = emulator::Work*;
using cudaGraphExec_t = emulator::Work*;
using cudaMemPool_t = void*;
using cudaHostFn_t = void (*)(void*);

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
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = 1 << 20, *total = 1 << 30;
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return emulator::call([&] { *stream = new emulator::Stream, ++emulator::alive; });
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return emulator::call([&] { delete stream, --emulator::alive; });
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return emulator::call(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return emulator::call(); }
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return emulator::call([&] { emulator::put(stream, [=] { function(argument); }); });
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return emulator::call([&] { *event = new char(0), ++emulator::alive; });
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return emulator::call([&] { delete event, --emulator::alive; });
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return emulator::call(); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return emulator::call(); }

inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return emulator::call([&] { *pool = nullptr; });
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return emulator::call(); }
inline cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t) {
  return emulator::call([&] { *block = ::operator new(bytes, std::align_val_t(256)), ++emulator::alive; });
}
inline cudaError_t cudaFreeAsync(void* block, cudaStream_t) {
  return emulator::call([&] { ::operator delete(block, std::align_val_t(256)), --emulator::alive; });
}
inline cudaError_t cudaMallocHost(void** block, std::size_t bytes) { return cudaMallocAsync(block, bytes, nullptr); }
inline cudaError_t cudaFreeHost(void* block) { return cudaFreeAsync(block, nullptr); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return emulator::call([&] { emulator::put(stream, [=] { std::memcpy(to, from, bytes); }); });
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return emulator::call([&] { emulator::put(stream, [=] { std::memset(to, value, bytes); }); });
}

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return emulator::call([&] { stream->recording = true; });
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return emulator::call([&] {
    *graph = new emulator::Work(std::move(stream->recorded)), ++emulator::alive;
    stream->recording = false;
  });
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  return emulator::call([&] { *made = new emulator::Work(*graph), ++emulator::alive; });
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return emulator::call([&] { delete graph, --emulator::alive; });
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  return emulator::call([&] {
    ++emulator::graph_launches;
    for (const auto& work : *graph) work();
  });
}
