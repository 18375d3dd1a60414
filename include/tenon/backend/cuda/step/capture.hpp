// Records the works of a step as a CUDA graph in which each waits for those alone that it must follow.
#pragma once
#include <memory>
#include <vector>

#include <tenon/backend/cuda/runtime.hpp>
#include <tenon/backend/cuda/step/dependencies.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { forget(cudaGraphDestroy(graph)); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

/// Streams and events of a recording, given back at its end.
class Recording {
 public:
  static constexpr std::size_t most_lanes = 16;

  Recording() { add_lane(); }
  ~Recording() {
    for (const cudaStream_t stream : lanes_) forget(cudaStreamDestroy(stream));
    for (const cudaEvent_t event : events_) forget(cudaEventDestroy(event));
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// start(work, stream, lane) starts a work on the stream of a lane.
  template <class Start>
  OwnedGraph record(const Order& order, int works, Start start) {
    check(cudaStreamBeginCapture(lanes_[0], cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      begin_ = event_after(lanes_[0]);
      for (int i = 0; i < works; ++i) record_work(order, i, start);
      for (std::size_t lane = 1; lane < lanes_.size(); ++lane) wait(lanes_[0], done_[std::size_t(last_[lane])]);
    } catch (...) {
      forget(cudaStreamEndCapture(lanes_[0], &graph));
      const OwnedGraph unfinished(graph);
      throw;
    }
    check(cudaStreamEndCapture(lanes_[0], &graph), "cudaStreamEndCapture");
    return OwnedGraph(graph);
  }

 private:
  template <class Start>
  void record_work(const Order& order, int i, Start start) {
    const std::size_t lane = lane_for(order, i);
    const cudaStream_t stream = lanes_[lane];
    if (last_[lane] < 0 && lane > 0) wait(stream, begin_);
    for (const int j : order.of(i))
      if (last_[lane] != j) wait(stream, done_[std::size_t(j)]);
    start(i, stream, int(lane));
    done_.push_back(event_after(stream));
    last_[lane] = i;
  }
  // One whose last work this one waits for in any case, if there is one.
  std::size_t lane_for(const Order& order, int i) {
    for (const int j : order.of(i))
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        if (last_[lane] == j) return lane;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      if (last_[lane] < 0 || order.waits_for(i, last_[lane])) return lane;
    if (lanes_.size() < most_lanes) return add_lane();
    return std::size_t(i) % most_lanes;
  }
  std::size_t add_lane() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    lanes_.push_back(stream), last_.push_back(-1);
    return lanes_.size() - 1;
  }
  cudaEvent_t event_after(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    events_.push_back(event);
    check(cudaEventRecord(event, stream), "cudaEventRecord");
    return event;
  }
  static void wait(cudaStream_t stream, cudaEvent_t event) {
    check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
  }

  std::vector<cudaStream_t> lanes_;
  std::vector<int> last_;          // work of each lane; -1: none yet
  std::vector<cudaEvent_t> done_;  // after each work
  std::vector<cudaEvent_t> events_;
  cudaEvent_t begin_ = nullptr;
};

}  // namespace tenon::kernel::cuda
