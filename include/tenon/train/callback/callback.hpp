// Callbacks: classes that have one or more of six methods, found by their presence.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include <tenon/core/any_tensor.hpp>
#include <tenon/core/context.hpp>

namespace tenon::inline TENON_ABI {

/// What a callback can know about the run. Counts start at 1, as in MindSpore.
struct RunInfo {
  Mode mode = Mode::graph;
  bool training = true;
  long epoch_num = 0;       // epochs of this run
  long cur_epoch_num = 0;
  long batch_num = 0;       // steps per epoch
  long cur_step_num = 0;    // steps since the run began, over all epochs
  std::span<const AnyTensor> net_outputs{};  // of the last step: in training the losses
  double epoch_seconds = 0, step_seconds = 0;  // of the last complete epoch and step

  /// Step within the epoch.
  long step_in_epoch() const { return batch_num ? (cur_step_num - 1) % batch_num + 1 : 0; }
  /// The first output as a number: the loss of the step (the mean over it if it has more elements).
  double loss() const {
    if (net_outputs.empty()) return 0;
    double sum = 0;
    if (net_outputs[0].dtype == Dtype::float64) for (double v : net_outputs[0].as<double>()) sum += v;
    else for (float v : net_outputs[0].as<float>()) sum += v;
    return sum / static_cast<double>(net_outputs[0].count());
  }
  /// Ends the run after this step (or epoch), with epoch_end and end.
  void request_stop() { stop_requested = true; }
  bool stop_requested = false;
};

namespace detail {
template <class C, class Run> concept HasBegin = requires(C& c, Run& r) { c.begin(r); };
template <class C, class Run> concept HasEpochBegin = requires(C& c, Run& r) { c.epoch_begin(r); };
template <class C, class Run> concept HasStepBegin = requires(C& c, Run& r) { c.step_begin(r); };
template <class C, class Run> concept HasStepEnd = requires(C& c, Run& r) { c.step_end(r); };
template <class C, class Run> concept HasEpochEnd = requires(C& c, Run& r) { c.epoch_end(r); };
template <class C, class Run> concept HasEnd = requires(C& c, Run& r) { c.end(r); };
}  // namespace detail

/// A callback has at least one of begin, epoch_begin, step_begin, step_end, epoch_end, end, each taking the run.
template <class C, class Run>
concept Callback = detail::HasBegin<C, Run> || detail::HasEpochBegin<C, Run> || detail::HasStepBegin<C, Run> || detail::HasStepEnd<C, Run> || detail::HasEpochEnd<C, Run> ||
                   detail::HasEnd<C, Run>;

namespace detail {
/// Calls one hook of every callback that has it.
template <class Run, class... C>
struct CallbackList {
  Run& run;
  std::tuple<C&...> callbacks;

  template <class F>
  void each(F f) {
    std::apply([&](auto&... c) { (f(c), ...); }, callbacks);
  }
  void begin() { each([&](auto& c) { if constexpr (HasBegin<decltype(c), Run>) c.begin(run); }); }
  void epoch_begin() { each([&](auto& c) { if constexpr (HasEpochBegin<decltype(c), Run>) c.epoch_begin(run); }); }
  void step_begin() { each([&](auto& c) { if constexpr (HasStepBegin<decltype(c), Run>) c.step_begin(run); }); }
  void step_end() { each([&](auto& c) { if constexpr (HasStepEnd<decltype(c), Run>) c.step_end(run); }); }
  void epoch_end() { each([&](auto& c) { if constexpr (HasEpochEnd<decltype(c), Run>) c.epoch_end(run); }); }
  void end() { each([&](auto& c) { if constexpr (HasEnd<decltype(c), Run>) c.end(run); }); }
};
}  // namespace detail

}  // namespace tenon
