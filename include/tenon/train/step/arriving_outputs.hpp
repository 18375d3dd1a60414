// Outputs of a few bytes, such as a loss, and losses per sample, on their way from a second target while the host
// continues.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <atomic>
#include <cstring>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The outputs of one step.
struct ArrivingStep {
  static constexpr std::size_t most = 64;  // bytes that are sent without being asked for

  alignas(16) std::byte value[most];
  AlignedBytes more;  // for larger outputs that are sent, too
  std::size_t more_bytes = 0;
  std::atomic<bool> small_here{true}, rest_here{true};
  TargetId from{};
  Growing<AnyTensor> view;                       // of `value`, or for a larger output of what the target has
  bool unchecked = false;                        // of a training: its losses are still to be looked at
  long epoch = 0, number = 0, steps_before = 0;  // and where the run was

  bool holds(const AnyTensor& output) const {
    const auto* const data = static_cast<const std::byte*>(output.data);
    return (data >= value && data < value + most) || (data >= more.data() && data < more.data() + more_bytes);
  }
  bool is_here() const {
    return small_here.load(std::memory_order_acquire) && rest_here.load(std::memory_order_acquire);
  }
  /// Until those that were sent for are here.
  void wait_for_them() const {
    small_here.wait(false, std::memory_order_acquire);
    rest_here.wait(false, std::memory_order_acquire);
  }
  /// The same, until all that is in the queue is done. Throws what a kernel has thrown.
  void wait() const {
    if (!is_here()) with_target(from, []<class Target>(std::type_identity<Target>) { Target::wait(); });
  }
};

/// The outputs of the last `ahead` steps. The host checks a loss after it has arrived. It waits if the target is
/// `ahead` steps behind.
class ArrivingOutputs {
 public:
  static constexpr int ahead = 8;

  ArrivingOutputs() = default;
  ~ArrivingOutputs() {
    for (const ArrivingStep& step : step_) step.wait_for_them();
  }
  ArrivingOutputs(const ArrivingOutputs&) = delete;
  ArrivingOutputs& operator=(const ArrivingOutputs&) = delete;

  /// Sends for the small outputs of the last run.
  ArrivingStep& take(const Executor& executor) {
    ArrivingStep& step = step_[next_];
    next_ = (next_ + 1) % ahead;
    step.wait_for_them();
    step.view.clear();
    step.from = executor.target();
    AnyTensor last;
    std::size_t used = 0, last_place = 0;
    for (int k = 0; k < executor.program().outputs; ++k) {
      AnyTensor& view = step.view.push_back(executor.output_view(k));
      const std::size_t bytes = view.bytes();
      if (bytes == 0 || used + bytes > ArrivingStep::most) continue;
      if (last.data) send(step, last, step.value + last_place, sent_before_);
      last = view, last_place = used;
      view.data = step.value + used;
      used += in_words(bytes);
    }
    if (last.data) step.small_here = false, send(step, last, step.value + last_place, step.small_here);
    return step;
  }
  /// Sends for the larger outputs of the last run, too.
  void take_rest() {
    ArrivingStep& step = last();
    const auto is_sent = [&](const AnyTensor& view) { return view.bytes() == 0 || step.holds(view); };
    std::size_t bytes = 0;
    int left = 0;
    for (const AnyTensor& view : step.view)
      if (!is_sent(view)) bytes += in_words(view.bytes()), ++left;
    if (bytes > step.more_bytes) step.more = AlignedBytes(bytes, "the losses of a batch"), step.more_bytes = bytes;
    if (left) step.rest_here = false;
    std::byte* to = step.more.data();
    for (AnyTensor& view : step.view) {
      if (is_sent(view)) continue;
      send(step, view, to, --left ? sent_before_ : step.rest_here);
      view.data = to;
      to += in_words(view.bytes());
    }
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
  static std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
  // `here` of the last of the outputs says that all are here, as they come in order.
  static void send(ArrivingStep& step, const AnyTensor& output, std::byte* to, std::atomic<bool>& here) {
    try {
      TargetMemory::instance().fetch(step.from, to, static_cast<std::byte*>(output.data), output.bytes(), here);
    } catch (...) {
      give_up(step);
      throw;
    }
  }
  // Nobody may wait for what was not sent; what was sent before has arrived, or never will.
  [[gnu::cold, gnu::noinline]] static void give_up(ArrivingStep& step) {
    try {
      with_target(step.from, []<class Target>(std::type_identity<Target>) { Target::wait(); });
    } catch (...) {  // the error that the caller gets is the first one
    }
    step.small_here = step.rest_here = true;
  }

  ArrivingStep step_[ahead];
  std::atomic<bool> sent_before_{true};
  int next_ = 0;
};

}  // namespace tenon::detail
#endif
