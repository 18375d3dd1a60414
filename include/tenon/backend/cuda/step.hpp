// A step on a GPU: its kernel calls become a CUDA graph, recorded once and replayed.
#pragma once
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/backend/cuda/queues.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Steps that were seen before: the second time, one becomes a CUDA graph.
template <class Launch>
class RecordedSteps {
 public:
  static RecordedSteps& instance() {
    static RecordedSteps* const steps = new RecordedSteps;  // for ever, as the queues
    return *steps;
  }
  /// The graph of these calls of a program; null if this is the first time that they come. record(stream) starts
  /// them on a stream.
  template <class Record>
  cudaGraphExec_t find(const void* program, int device, const std::vector<Launch>& launches, Record record) {
    const std::lock_guard lock(mutex_);
    for (Step& step : steps_) {
      if (step.program != program || step.device != device || step.launches.size() != launches.size() ||
          std::memcmp(step.launches.data(), launches.data(), launches.size() * sizeof(Launch)) != 0)
        continue;
      if (!step.graph) step.graph = capture(record);
      step.last_used = ++time_;
      return step.graph;
    }
    if (steps_.size() == most) forget_oldest();
    steps_.push_back({program, device, launches, nullptr, ++time_});
    return nullptr;
  }

 private:
  static constexpr std::size_t most = 64;  // beyond, what was not used for longest is forgotten
  struct Step {
    const void* program;
    int device;
    std::vector<Launch> launches;
    cudaGraphExec_t graph;
    long last_used;
  };

  template <class Record>
  static cudaGraphExec_t capture(Record record) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      record(stream);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      cudaStreamDestroy(stream);
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return made;
  }
  void forget_oldest() {
    std::size_t oldest = 0;
    for (std::size_t i = 1; i < steps_.size(); ++i)
      if (steps_[i].last_used < steps_[oldest].last_used) oldest = i;
    if (steps_[oldest].graph) check(cudaGraphExecDestroy(steps_[oldest].graph), "cudaGraphExecDestroy");
    steps_.erase(steps_.begin() + long(oldest));
  }

  std::mutex mutex_;
  std::vector<Step> steps_;
  long time_ = 0;
};

/// What Cuda::begin() returns.
template <class Step>
struct Begun {
  using Launch = typename Step::Launch;
  const Step step;
  std::vector<Launch> launches{};
  std::vector<cudaEvent_t> after{};

  void wait_for(void* event) {
    check(cudaStreamWaitEvent(queues().kernels, static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
  }
  void launch(const Launch& call) { launches.push_back(call); }
  void record(void* event) { after.push_back(static_cast<cudaEvent_t>(event)); }
  void commit() {
    Queues& on = queues();
    const auto start = [this](cudaStream_t stream) { start_on(stream); };
    const bool whole = step.program && !looks_for_mistakes();
    if (!launches.empty()) {
      if (const cudaGraphExec_t graph =
              whole ? RecordedSteps<Launch>::instance().find(step.program, device_of_thread(), launches, start)
                    : nullptr)
        check(cudaGraphLaunch(graph, on.kernels), "cudaGraphLaunch");
      else start(on.kernels);
    }
    for (const cudaEvent_t event : after) check(cudaEventRecord(event, on.kernels), "cudaEventRecord");
  }

 private:
  // CUDA's own switch: each kernel is waited for, so that an error is that of the kernel.
  static bool looks_for_mistakes() {
    static const bool asked = [] {
      const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
      return value && *value && *value != '0';
    }();
    return asked;
  }
  void start_on(cudaStream_t stream) const {
    Running& now = running();
    const Running before = now;
    now.stream = stream;
    try {
      for (const Launch& call : launches) {
        now.unless = call.unless;
        call.run(call.arguments, 0, call.items);
        if (looks_for_mistakes())
          if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess)
            fail(error, step.text(call).c_str());
      }
    } catch (...) {
      now = before;
      throw;
    }
    now = before;
  }
};

}  // namespace tenon::kernel::cuda
