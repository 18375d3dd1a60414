// A step on a GPU: its kernel calls become a CUDA graph, recorded once and replayed.
#pragma once
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/backend/cuda/capture.hpp>
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
  /// The graph of the calls of a step; null if this is the first time that they come. start(call, stream, lane)
  /// starts one.
  template <class Step, class Start>
  cudaGraphExec_t find(const Step& step, int device, const std::vector<Launch>& launches, Start start) {
    const std::lock_guard lock(mutex_);
    for (Recorded& known : steps_) {
      if (known.program != step.program || known.device != device || known.math != step.math ||
          known.launches.size() != launches.size() ||
          std::memcmp(known.launches.data(), launches.data(), launches.size() * sizeof(Launch)) != 0)
        continue;
      if (!known.graph) known.graph = capture(step, launches, start);
      known.last_used = ++time_;
      return known.graph;
    }
    if (steps_.size() == most) forget_oldest();
    steps_.push_back({step.program, device, step.math, launches, nullptr, ++time_});
    return nullptr;
  }

 private:
  static constexpr std::size_t most = 64;  // beyond, what was not used for longest is forgotten
  struct Recorded {
    const void* program;
    int device;
    Math math;
    std::vector<Launch> launches;
    cudaGraphExec_t graph;
    long last_used;
  };

  template <class Step, class Start>
  static cudaGraphExec_t capture(const Step& step, const std::vector<Launch>& launches, Start start) {
    const cudaGraph_t graph = Recording().record(Dependencies(step, launches), int(launches.size()), start);
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
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
  std::vector<Recorded> steps_;
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
    const bool whole = step.program && !looks_for_mistakes();
    if (!launches.empty()) {
      const auto start_one = [this](int i, cudaStream_t stream, int lane) {
        start(launches[std::size_t(i)], stream, lane);
      };
      if (const cudaGraphExec_t graph =
              whole ? RecordedSteps<Launch>::instance().find(step, device_of_thread(), launches, start_one) : nullptr)
        check(cudaGraphLaunch(graph, on.kernels), "cudaGraphLaunch");
      else {
        for (const Launch& call : launches) start(call, on.kernels, 0);
      }
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
  void start(const Launch& call, cudaStream_t stream, int lane) const {
    Running& now = running();
    const Running before = now;
    now = {stream, call.unless, queues().overlaps, step.math, lane};
    try {
      call.run(call.arguments, 0, call.items);
      if (looks_for_mistakes())
        if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess)
          fail(error, step.text(call).c_str());
    } catch (...) {
      now = before;
      throw;
    }
    now = before;
  }
};

}  // namespace tenon::kernel::cuda
