// A step on a GPU: its kernel calls become a CUDA graph, recorded once and replayed.
#pragma once
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/backend/cuda/lane_memory.hpp>
#include <tenon/backend/cuda/step/capture.hpp>
#include <tenon/backend/cuda/step/merged.hpp>
#include <tenon/backend/cuda/step/queues.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// How many steps are kept, of few calls; of large ones at least `least_recorded`. Each batch size is another step, and
/// so is each part of one between two exchanges of ranks. Tests change the first number.
inline std::size_t& most_recorded() {
  static std::size_t most = 256;
  return most;
}
inline constexpr std::size_t least_recorded = 64, most_recorded_calls = 64 * 512;

/// Steps that were seen before: the second time, one becomes a CUDA graph.
template <class Launch>
class RecordedSteps {
 public:
  static RecordedSteps& instance() {
    static RecordedSteps* const steps = new RecordedSteps;  // for ever, as the queues
    return *steps;
  }
  /// The graph of the calls of a step; null if this is the first time that they come. run(call, where) runs one.
  template <class Step, class Run>
  cudaGraphExec_t find(const Step& step, int device, const std::vector<Launch>& launches, Run run) {
    const std::lock_guard lock(mutex_);
    for (auto known = steps_.begin(); known != steps_.end(); ++known) {
      if (known->program != step.program || known->device != device || known->math != step.math ||
          known->launches.size() != launches.size() ||
          std::memcmp(known->launches.data(), launches.data(), launches.size() * sizeof(Launch)) != 0)
        continue;
      steps_.splice(steps_.begin(), steps_, known);
      if (!known->graph) known->graph = capture(step, launches, run);
      return known->graph;
    }
    while (steps_.size() >= most_recorded() ||
           (steps_.size() >= least_recorded && calls_ + launches.size() > most_recorded_calls))
      forget_last();
    steps_.push_front({step.program, device, step.math, launches, nullptr});
    calls_ += launches.size();
    return nullptr;
  }

 private:
  static constexpr long most_of_lane = 32 << 20;
  struct Recorded {
    const void* program;
    int device;
    Math math;
    std::vector<Launch> launches;
    cudaGraphExec_t graph;
  };

  template <class Step, class Run>
  static cudaGraphExec_t capture(const Step& step, const std::vector<Launch>& launches, Run run) {
    // All workspaces of a program are one. A call that gets one from its lane need not wait for the others.
    std::vector<Launch> calls = launches;
    for (Launch& call : calls)
      if (call.workspace <= most_of_lane) call.arguments.workspace = nullptr;
    const Works works(order_of_calls(step, calls), launches, [&](int i) {
      SeenCall seen;
      run(calls[std::size_t(i)], Running{.math = step.math, .seen = &seen});
      if (calls[std::size_t(i)].workspace) seen.start = nullptr;  // its lane's is known later
      return seen;
    });
    const bool overlaps = queues().overlaps;
    const OwnedGraph graph =
        Recording().record(works.order(), works.count(), [&](int i, cudaStream_t stream, int lane) {
          const Work& work = works[i];
          const Running where{stream, work.unless, overlaps, step.math, lane};
          if (work.start) return run_with(where, [&] { work.start(work.parts.data(), long(work.calls.size())); });
          Launch& call = calls[std::size_t(work.calls[0])];
          if (call.workspace && !call.arguments.workspace)
            run_with(where, [&] {
              call.arguments.workspace = LaneMemory::take(LaneMemory::call, std::size_t(call.workspace));
            });
          run(call, where);
        });
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
    return made;
  }
  void forget_last() {
    if (steps_.back().graph) check(cudaGraphExecDestroy(steps_.back().graph), "cudaGraphExecDestroy");
    calls_ -= steps_.back().launches.size();
    steps_.pop_back();
  }

  std::mutex mutex_;
  std::list<Recorded> steps_;  // the one that was used last comes first
  std::size_t calls_ = 0;      // of all of them
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
      const auto run_one = [](const Launch& call, const Running& where) { run(call, where); };
      if (const cudaGraphExec_t graph =
              whole ? RecordedSteps<Launch>::instance().find(step, device_of_thread(), launches, run_one) : nullptr) {
        const std::lock_guard lock(on.calls);
        check(cudaGraphLaunch(graph, on.kernels), "cudaGraphLaunch");
      } else {
        for (const Launch& call : launches) run_now(call, {on.kernels, nullptr, on.overlaps, step.math});
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
  static void run(const Launch& call, Running where) {
    where.unless = call.unless;
    run_with(where, [&] { call.run(call.arguments, 0, call.items); });
  }
  void run_now(const Launch& call, const Running& where) const {
    {
      const std::lock_guard lock(queues().calls);
      run(call, where);
    }
    if (looks_for_mistakes())
      if (const cudaError_t error = cudaStreamSynchronize(where.stream); error != cudaSuccess)
        fail(error, step.text(call).c_str());
  }
};

}  // namespace tenon::kernel::cuda
