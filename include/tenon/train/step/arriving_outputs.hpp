// Outputs of a few bytes, such as a loss, on their way from a second target while the host continues. Flags are sent,
// too: whether losses per sample were finite, and whether indices that the network computes were in their range.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <atomic>
#include <cstring>
#include <new>

#include <tenon/core/log/log.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/graph/ir/guard.hpp>
#include <tenon/run/executor.hpp>
#include <tenon/run/there/pinned_bytes.hpp>
#include <tenon/target/queue.hpp>

namespace tenon::inline TENON_ABI::detail {

/// What arrives of one step, in memory that the target writes.
struct ArrivedValues {
  alignas(16) std::byte value[sent_bytes];
  std::int32_t not_finite = 0;   // the flag at losses_state
  std::int32_t wrong_index = 0;  // Executor::index_flag()
  std::atomic<bool> values_here{true}, flag_here{true};
  std::atomic<bool> sent_before{true};  // of values before the last one: they arrive before it
};

/// The outputs of one step.
struct ArrivingStep {
  TargetId from{};
  PinnedBytes memory;                            // of that target
  ArrivedValues* arrived = nullptr;              // in it, from the first time on
  Executor* looks_late = nullptr;                // the one whose flag is sent
  std::byte* state = nullptr;                    // of the training
  Growing<AnyTensor> view;                       // of `value`, or for a larger output of what the target has
  bool unchecked = false;                        // of a training: its losses are still to be looked at
  long epoch = 0, number = 0, steps_before = 0;  // and where the run was

  bool holds(const AnyTensor& output) const {
    const auto* const data = static_cast<const std::byte*>(output.data);
    return data >= arrived->value && data < arrived->value + sent_bytes;
  }
  /// For the steps to come.
  void reset_flag() const {
    const std::int32_t none = 0;
    std::memcpy(home(state + losses_state, sizeof none, Look::overwrite), &none, sizeof none);
  }
  bool is_here() const {
    return arrived->values_here.load(std::memory_order_acquire) && arrived->flag_here.load(std::memory_order_acquire);
  }
  /// Until those that were sent for are here.
  void wait_for_them() const {
    if (!arrived) return;
    with_target(from, [this]<class Target>(std::type_identity<Target>) {
      for (const std::atomic<bool>* const here : {&arrived->values_here, &arrived->flag_here})
        if constexpr (WaitsUntil<Target>) Target::wait_until(*here);
        else here->wait(false, std::memory_order_acquire);
    });
  }
  /// The same, until all that is in the queue is done. Throws what a kernel has thrown.
  void wait() const {
    if (!is_here()) with_target(from, []<class Target>(std::type_identity<Target>) { Target::wait(); });
  }
  /// For the outputs of another step, after those before are here.
  void clear(TargetId target) {
    if (!arrived || target != from) {
      memory = PinnedBytes(target, sizeof *arrived, "the outputs of a step");
      arrived = ::new (memory.data()) ArrivedValues;
    }
    from = target, arrived->not_finite = arrived->wrong_index = 0;
    view.clear();
  }
};

/// The outputs of the last `ahead` steps. The host checks a loss after it has arrived. It waits if the target is
/// `ahead` steps behind.
class ArrivingOutputs {
 public:
  static constexpr int ahead = 8;

  ArrivingOutputs() = default;
  ~ArrivingOutputs() {
    try {
      for (const ArrivingStep& step : step_) step.wait_for_them();
    } catch (...) {  // a kernel has failed, so that no more comes; the next call of the target says so
    }
  }
  ArrivingOutputs(const ArrivingOutputs&) = delete;
  ArrivingOutputs& operator=(const ArrivingOutputs&) = delete;

  /// Sends for the small outputs of the last run.
  ArrivingStep& take(Executor& executor) {
    ArrivingStep& step = step_[next_];
    step.wait_for_them();
    check_indices(false);
    step.clear(executor.target());
    next_ = (next_ + 1) % ahead;
    step.state = executor.state();
    AnyTensor last;
    std::byte* last_to = nullptr;
    std::size_t used = 0;
    const auto send_next = [&](const AnyTensor& output, std::byte* to) {
      if (last_to) send(step, last, last_to);
      last = output, last_to = to;
    };
    step.looks_late = executor.index_flag() ? &executor : nullptr;
    if (step.looks_late)
      send_next(flag_at(executor.index_flag()), reinterpret_cast<std::byte*>(&step.arrived->wrong_index));
    for (int k = 0; k < executor.program().outputs; ++k) {
      AnyTensor& view = step.view.push_back(executor.output_view(k));
      const std::size_t bytes = view.bytes();
      if (bytes == 0 || used + bytes > std::size_t(sent_bytes)) continue;
      send_next(view, step.arrived->value + used);
      view.data = step.arrived->value + used;
      used += in_words(bytes);
    }
    if (last_to) step.arrived->values_here = false, send(step, last, last_to, step.arrived->values_here);
    return step;
  }
  /// Sends for the flag of the last run's losses, if some of them are not sent.
  void take_flag() {
    ArrivingStep& step = last();
    bool all_sent = true;
    for (const AnyTensor& view : step.view) all_sent &= view.bytes() == 0 || step.holds(view);
    if (all_sent) return;
    ArrivedValues& to = *step.arrived;
    to.flag_here = false;
    send(step, flag_at(step.state + losses_state), reinterpret_cast<std::byte*>(&to.not_finite), to.flag_here);
  }
  /// Throws ValueError if an index was out of range in a step whose flag is here; with `all`, waits for those that are
  /// not.
  void check_indices(bool all) {
    for (ArrivingStep& step : step_) {
      if (!step.looks_late || (!all && !step.is_here())) continue;
      step.wait();
      if (Executor* const executor = std::exchange(step.looks_late, nullptr); step.arrived->wrong_index) {
        for (ArrivingStep& other : step_) other.looks_late = nullptr, other.unchecked = false;
        executor->report_index();
      }
    }
  }
  ArrivingStep& last() { return step_[(next_ + ahead - 1) % ahead]; }
  /// The step whose losses are to be looked at next; null if there is none.
  ArrivingStep* unchecked() {
    for (int i = 0; i < ahead; ++i)
      if (ArrivingStep& step = step_[(next_ + i) % ahead]; step.unchecked) return &step;
    return nullptr;
  }
  /// At the begin of a run. What a run that an exception has ended has not looked at does not end this one: the network
  /// may have other weights since, and other data.
  void begin_run() {
    if (unchecked()) forget();
    try {
      check_indices(true);
    } catch (const ValueError& error) {
      logging::warning("In the run before, which has ended by an exception: ", error.what());
    }
  }
  /// After a loss that was not finite: what later steps sent does not count, and the flag is reset.
  void forget() {
    for (ArrivingStep& step : step_) step.unchecked = false;
    last().reset_flag();
  }
  /// True if the next step would overwrite one with unchecked losses.
  bool is_full() const { return step_[next_].unchecked; }

 private:
  static std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
  static AnyTensor flag_at(std::byte* flag) { return AnyTensor(type_of<std::int32_t, Shape<>>, 1, flag); }
  static void send(ArrivingStep& step, const AnyTensor& output, std::byte* to) {
    send(step, output, to, step.arrived->sent_before);
  }
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
    step.arrived->values_here = step.arrived->flag_here = true;
  }

  ArrivingStep step_[ahead];
  int next_ = 0;
};

}  // namespace tenon::detail
#endif
