// Callbacks: classes that have one or more of six methods, found by their presence. Observers are taken, too.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include <tenon/core/context.hpp>
#include <tenon/core/spread.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/graph/observe/observer.hpp>
#include <tenon/nn/metric/mean_of.hpp>

namespace tenon::inline TENON_ABI {

class EvalResult;  // train/eval_result.hpp

/// What a callback can know about the run. Counts start at 1, as in MindSpore.
struct RunInfo {
  RunInfo() = default;
  RunInfo(const RunInfo&) = delete;  // what a hook says to a copy of it nobody would hear
  RunInfo& operator=(const RunInfo&) = delete;

  Mode mode = Mode::graph;
  bool training = true;
  long epoch_num = 0;  // epochs of this run; 0 in an evaluation
  long cur_epoch_num = 0;
  long batch_num = 0;     // steps per epoch
  long cur_step_num = 0;  // steps since the run began, over all epochs
  // of the last step: in training the losses, in evaluation losses and prediction
  std::span<const AnyTensor> net_outputs{};
  double epoch_seconds = 0, step_seconds = 0;  // of the last complete epoch and step
  const EvalResult* metrics = nullptr;         // in end() of an evaluation
  double loss_scale = 1;                       // of the last step of a training; the loss itself is not scaled
  // a gradient of the last step was infinite or NaN, so that it updated nothing
  bool overflow = false;

  /// Step within the epoch.
  long step_in_epoch() const { return batch_num && cur_step_num ? (cur_step_num - 1) % batch_num + 1 : 0; }
  /// The first output as a number: the loss of the step (the mean over it if it has more elements).
  double loss() const { return net_outputs.empty() ? 0 : mean_of(net_outputs[0]); }
  /// Ends the run after the current step, or, between steps, after the next one; epoch_end and end still come. There is
  /// no way to take it back. As in MindSpore the request is looked at after each step_end.
  void request_stop() { stop_requested = true; }
  bool stop_requested = false;
};

namespace detail {
template <class C, class Run>
concept HasBegin = requires(C& c, Run& r) { c.begin(r); };
template <class C, class Run>
concept HasEpochBegin = requires(C& c, Run& r) { c.epoch_begin(r); };
template <class C, class Run>
concept HasStepBegin = requires(C& c, Run& r) { c.step_begin(r); };
template <class C, class Run>
concept HasStepEnd = requires(C& c, Run& r) { c.step_end(r); };
template <class C, class Run>
concept HasEpochEnd = requires(C& c, Run& r) { c.epoch_end(r); };
template <class C, class Run>
concept HasEnd = requires(C& c, Run& r) { c.end(r); };
}  // namespace detail

/// A callback has at least one of begin, epoch_begin, step_begin, step_end, epoch_end, end, each taking the run.
template <class C, class Run>
concept Callback = detail::HasBegin<C, Run> || detail::HasEpochBegin<C, Run> || detail::HasStepBegin<C, Run> ||
                   detail::HasStepEnd<C, Run> || detail::HasEpochEnd<C, Run> || detail::HasEnd<C, Run>;

/// Callbacks chosen at run time: a range such as std::vector<AnyCallback>.
template <class C, class Run>
concept CallbackRange = requires(C& c) {
  typename C::value_type;
  c.begin() != c.end();
} && Callback<typename C::value_type, Run>;

namespace detail {

// A class that inherits a name twice cannot take its address: that is how a hook is found whose signature does not fit.
struct HookNames {
  int begin, epoch_begin, step_begin, step_end, epoch_end, end;
};
template <class C>
struct HookProbe : C, HookNames {};

template <class C, class Run>
constexpr bool hooks_fit() {
  if constexpr (std::is_class_v<C> && !std::is_final_v<C>) {
    using P = HookProbe<std::remove_const_t<C>>;
    return (requires { &P::begin; } || HasBegin<C, Run>) && (requires { &P::epoch_begin; } || HasEpochBegin<C, Run>) &&
           (requires { &P::step_begin; } || HasStepBegin<C, Run>) &&
           (requires { &P::step_end; } || HasStepEnd<C, Run>) && (requires { &P::epoch_end; } || HasEpochEnd<C, Run>) &&
           (requires { &P::end; } || HasEnd<C, Run>);
  } else return true;
}
/// A method under a name that MindSpore 2.x, another library, or a slip of the pen gives to a hook. C++20 cannot list
/// the methods of a class, so beside a right hook only these are found; a class with no right hook is refused whatever
/// its methods are called.
template <class C, class Run>
concept HasNearHook =
    requires(C& c, Run& r) { c.on_train_begin(r); } || requires(C& c, Run& r) { c.on_train_epoch_begin(r); } ||
    requires(C& c, Run& r) { c.on_train_step_begin(r); } || requires(C& c, Run& r) { c.on_train_step_end(r); } ||
    requires(C& c, Run& r) { c.on_train_epoch_end(r); } || requires(C& c, Run& r) { c.on_train_end(r); } ||
    requires(C& c, Run& r) { c.on_begin(r); } || requires(C& c, Run& r) { c.on_epoch_begin(r); } ||
    requires(C& c, Run& r) { c.on_step_begin(r); } || requires(C& c, Run& r) { c.on_step_end(r); } ||
    requires(C& c, Run& r) { c.on_epoch_end(r); } || requires(C& c, Run& r) { c.on_end(r); } ||
    requires(C& c, Run& r) { c.train_begin(r); } || requires(C& c, Run& r) { c.train_end(r); } ||
    requires(C& c, Run& r) { c.epoch_start(r); } || requires(C& c, Run& r) { c.epoch_started(r); } ||
    requires(C& c, Run& r) { c.epoch_ended(r); } || requires(C& c, Run& r) { c.epoch_begins(r); } ||
    requires(C& c, Run& r) { c.epoch_ends(r); } || requires(C& c, Run& r) { c.step_start(r); } ||
    requires(C& c, Run& r) { c.step_started(r); } || requires(C& c, Run& r) { c.step_ended(r); } ||
    requires(C& c, Run& r) { c.step_begins(r); } || requires(C& c, Run& r) { c.step_ends(r); } ||
    requires(C& c, Run& r) { c.begin_epoch(r); } || requires(C& c, Run& r) { c.end_epoch(r); } ||
    requires(C& c, Run& r) { c.begin_step(r); } || requires(C& c, Run& r) { c.end_step(r); } ||
    requires(C& c, Run& r) { c.epoch_being(r); } || requires(C& c, Run& r) { c.epoch_edn(r); } ||
    requires(C& c, Run& r) { c.step_being(r); } || requires(C& c, Run& r) { c.step_edn(r); };

/// What is wrong with a callback of the run, or a range of them; empty if nothing is.
template <class C, class Run>
constexpr std::string_view wrong_callback() {
  if constexpr (!CallbackRange<C, Run>) {
    if (HasNearHook<std::remove_const_t<C>, Run>)
      return "a callback has a method whose name is close to a hook's, but never called: the hooks are begin, "
             "epoch_begin, step_begin, step_end, epoch_end, end";
    if (!hooks_fit<C, Run>())
      return "a hook of a callback cannot be called: begin, epoch_begin, step_begin, step_end, epoch_end, end are "
             "public, take one parameter for the run (auto& or RunInfo&), and are const if the callback is";
    if (Observer<C> && !observable)
      return "an observer needs a program that can be observed: compile all of it with -DTENON_OBSERVE";
    if (!Callback<C, Run> && !Observer<C>)
      return "a callback has at least one of begin, epoch_begin, step_begin, step_end, epoch_end, end, each with one "
             "parameter for the run; check their spelling";
  }
  return {};
}
template <class C, class Run>
struct CheckedCallback {
  static constexpr Sentence sentence = Sentence{} << wrong_callback<C, Run>();
  static constexpr bool ok = sentence.empty();
};

/// Calls one hook of every callback that has it, in the order in which they were given.
template <class Run, class... C>
struct CallbackList {
  Run& run;
  std::tuple<C&...> callbacks;
  [[no_unique_address]] ObservingAmong<C...> observing;  // as long as the list is there

  explicit CallbackList(Run& of, C&... c) : run(of), callbacks(c...), observing(c...) {}

  template <class F>
  void each(F f) {
    if constexpr (sizeof...(C) == 0) return;
    const auto visit = [&](auto& c) {
      if constexpr (CallbackRange<std::remove_reference_t<decltype(c)>, Run>) {
        for (auto& one : c) f(one);
      } else f(c);
    };
    detail::spread([&](auto&... c) { (visit(c), ...); }, callbacks);
  }
  void begin() {
    each([&](auto& c) {
      if constexpr (HasBegin<decltype(c), Run>) c.begin(run);
    });
  }
  void epoch_begin() {
    each([&](auto& c) {
      if constexpr (HasEpochBegin<decltype(c), Run>) c.epoch_begin(run);
    });
  }
  void step_begin() {
    each([&](auto& c) {
      if constexpr (HasStepBegin<decltype(c), Run>) c.step_begin(run);
    });
  }
  void step_end() {
    each([&](auto& c) {
      if constexpr (HasStepEnd<decltype(c), Run>) c.step_end(run);
    });
  }
  void epoch_end() {
    each([&](auto& c) {
      if constexpr (HasEpochEnd<decltype(c), Run>) c.epoch_end(run);
    });
  }
  void end() {
    each([&](auto& c) {
      if constexpr (HasEnd<decltype(c), Run>) c.end(run);
    });
  }
};
}  // namespace detail

}  // namespace tenon
