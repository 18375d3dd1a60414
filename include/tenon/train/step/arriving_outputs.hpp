// Outputs of a few bytes, such as a loss, on their way from a second target while the host continues.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <atomic>
#include <cstring>

#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The outputs of one step.
struct ArrivingStep {
  static constexpr std::size_t most = 64;  // bytes that are sent without being asked for

  alignas(16) std::byte value[most];
  std::atomic<bool> here{true};
  TargetId from{};
  Growing<AnyTensor> view;                       // of `value`, or for a larger output of what the target has
  bool unchecked = false;                        // of a training: its losses are still to be looked at
  long epoch = 0, number = 0, steps_before = 0;  // and where the run was

  bool holds(const AnyTensor& output) const {
    const auto* const data = static_cast<const std::byte*>(output.data);
    return data >= value && data < value + most;
  }
  bool holds_all() const {
    bool all = true;
    for (const AnyTensor& output : view) all &= holds(output);
    return all;
  }
  /// Until they are here. Throws what a kernel has thrown.
  void wait() const {
    if (!here.load(std::memory_order_acquire))
      with_target(from, []<class Target>(std::type_identity<Target>) { Target::wait(); });
  }
};

/// The outputs of the last `ahead` steps. The host checks a loss after it has arrived. It waits before it would be more
/// than `ahead` steps in front of the target.
class ArrivingOutputs {
 public:
  static constexpr int ahead = 8;

  ArrivingOutputs() = default;
  ~ArrivingOutputs() {
    for (const ArrivingStep& step : step_) step.here.wait(false, std::memory_order_acquire);
  }
  ArrivingOutputs(const ArrivingOutputs&) = delete;
  ArrivingOutputs& operator=(const ArrivingOutputs&) = delete;

  /// Sends for the small outputs of the last run.
  ArrivingStep& take(const Executor& executor) {
    ArrivingStep& step = step_[next_];
    next_ = (next_ + 1) % ahead;
    step.here.wait(false, std::memory_order_acquire);
    step.view.clear();
    step.from = executor.target();
    AnyTensor last;
    std::size_t used = 0, last_place = 0;
    for (int k = 0; k < executor.program().outputs; ++k) {
      AnyTensor& view = step.view.push_back(executor.output_view(k));
      const std::size_t bytes = view.bytes();
      if (bytes == 0 || used + bytes > ArrivingStep::most) continue;
      if (last.data) send(step, last, last_place, sent_before_);
      last = view, last_place = used;
      view.data = step.value + used;
      used += (bytes + 7) / 8 * 8;
    }
    if (last.data) step.here = false, send(step, last, last_place, step.here);
    return step;
  }
  ArrivingStep& last() { return step_[(next_ + ahead - 1) % ahead]; }
  /// The step whose losses are to be looked at next; null if there is none.
  ArrivingStep* unchecked() {
    for (int i = 0; i < ahead; ++i)
      if (ArrivingStep& step = step_[(next_ + i) % ahead]; step.unchecked) return &step;
    return nullptr;
  }
  /// True if the next step would overwrite one with unchecked losses.
  bool is_full() const { return step_[next_].unchecked; }

 private:
  // `here` of the last of the outputs says that all are here, as they come in order.
  static void send(ArrivingStep& step, const AnyTensor& output, std::size_t place, std::atomic<bool>& here) {
    TargetMemory::instance().fetch(step.from, step.value + place, static_cast<std::byte*>(output.data), output.bytes(),
                                   here);
  }

  ArrivingStep step_[ahead];
  std::atomic<bool> sent_before_{true};
  int next_ = 0;
};

}  // namespace tenon::detail
#endif
