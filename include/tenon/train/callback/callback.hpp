// Callbacks: classes that have one or more hooks, methods found by their presence. Observers are taken, too.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/core/spread.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/graph/observe/observer.hpp>
#include <tenon/train/callback/run/callback_state.hpp>
#include <tenon/train/callback/run/callback_turn.hpp>
#include <tenon/train/callback/run/events.hpp>
#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI {

/// A callback has at least one hook, a method that takes the run (`auto&`, or `RunInfo&`):
///
///     begin, epoch_begin, step_begin, step_end, epoch_end, end         MindSpore 1.x: of trainings and evaluations
///     on_train_begin, ..., on_train_end, on_eval_begin, ..., on_eval_end   MindSpore 2.x: of one of the two; where a
///                                                                      class has both, only this one is called
///
/// epoch_begin and epoch_end are called only in trainings. For an evaluation by fit() only on_eval_* are called. In
/// addition to a hook, a callback with a state may have `on_train_resumed(run)`, which is called after its state was
/// loaded; request_stop() in it ends the run before the next step. A callback that keeps other weights may have
/// `on_eval_weights(run)`, which writes them to the network for an evaluation; the network gets its own weights back
/// afterwards.
template <class C, class Run>
concept Callback = detail::HasHook<C, Run>;

/// Callbacks chosen at run time: a range such as std::vector<AnyCallback>.
template <class C, class Run>
concept CallbackRange = requires(C& c) {
  typename C::value_type;
  c.begin() != c.end();
} && Callback<typename C::value_type, Run>;

namespace detail {

/// The error of a callback of the run, or of a range of callbacks; empty if there is no error.
template <class C, class Run>
constexpr std::string_view wrong_callback() {
  if constexpr (!CallbackRange<C, Run>) {
    if (HasNearHook<std::remove_const_t<C>, Run>)
      return "a callback has a method whose name is close to a hook's, but never called: the hooks are begin, "
             "epoch_begin, step_begin, step_end, epoch_end, end, and these with the prefix on_train_ or on_eval_";
    if (!hooks_fit<C, Run>())
      return "a hook of a callback cannot be called: begin, epoch_begin, step_begin, step_end, epoch_end, end are "
             "public, take one parameter for the run (auto& or RunInfo&), and are const if the callback is; so are "
             "those with the prefix on_train_ or on_eval_";
    if (Observer<C> && !observable)
      return "an observer needs a program that can be observed: compile all of it with -DTENON_OBSERVE";
    if (!Callback<C, Run> && !Observer<C>)
      return "a callback has at least one of begin, epoch_begin, step_begin, step_end, epoch_end, end, each with one "
             "parameter for the run, or of those with the prefix on_train_ or on_eval_; check their spelling";
  }
  return {};
}
template <class C, class Run>
struct CheckedCallback {
  static constexpr Sentence sentence = Sentence{} << wrong_callback<C, Run>();
  static constexpr bool ok = sentence.empty();
};

/// The rows of a data set, which a target beside the CPU gathers if it can. Callbacks with a method take_data(const
/// auto& data) receive the data set; in an AnyCallback they receive a dataset::DataInfo.
template <class Data, class... C>
auto opened([[maybe_unused]] TargetId target, const Data& data, [[maybe_unused]] C&... callbacks) {
  [[maybe_unused]] const auto show = [&](auto& callback) {
    if constexpr (requires { callback.take_data(data); }) callback.take_data(data);
    else if constexpr (requires { *callback.begin(), callback.begin() != callback.end(); })
      for (auto& one : callback)
        if constexpr (requires { one.take_data(data); }) one.take_data(data);
  };
  (show(callbacks), ...);
  auto rows = data.open();
#if defined(TENON_TARGET)
  if constexpr (requires { rows.gather_on(target); }) rows.gather_on(target);
#endif
  return rows;
}

/// The type of a callback, or of those in a range.
template <class C, class Run>
struct OneCallback {
  using type = C;
};
template <class C, class Run>
requires CallbackRange<C, Run>
struct OneCallback<C, Run> {
  using type = typename C::value_type;
};
template <class C, class Run>
constexpr bool may_keep_state = KeepsState<typename OneCallback<C, Run>::type>;
template <class E, class C, class Run>
constexpr bool may_hear = HandsOn<C, Run> || Hears<E, C, Run>;
template <class C, class Run>
concept GivesWeights = requires(C& callback, Run& run) { callback.on_eval_weights(run); };

/// Notifies all callbacks, in the order of the list and in their turns (callback_turn.hpp).
template <class Run, class... C>
struct CallbackList {
  Run& run;
  std::tuple<C&...> callbacks;
  [[no_unique_address]] ObservingAmong<C...> observing;  // as long as the list is there

  explicit CallbackList(Run& of, C&... c) : run(of), callbacks(c...), observing(c...) {}

  template <class E>
  void tell() {
    constexpr bool end = std::is_same_v<E, End>;
    constexpr int places = !any_turn ? 1 : end ? 4 : 2;
    if constexpr ((may_hear<E, typename OneCallback<C, Run>::type, Run> || ...))
      for (int place = 0; place < places; ++place)
        each([&](auto& c) {
          if (places == 1 || place_of(turn_of(c), end) == place) detail::tell<E>(c, run);
        });
  }
  static constexpr bool any_turn = (may_have_turn<typename OneCallback<C, Run>::type> || ...);
  /// Whether the network has other weights than its own after the end.
  bool ends_with_others() const {
    bool found = false;
    each([&](auto& c) {
      const CallbackTurn turn = turn_of(c);
      found = found || turn == CallbackTurn::averages || turn == CallbackTurn::restores;
    });
    return found;
  }

  static constexpr bool any_weights = (GivesWeights<typename OneCallback<C, Run>::type, Run> || ...);
  /// Gives the network the weights for an evaluation, if a callback has such weights; if several have, those of the
  /// last callback.
  bool have_weights() const {
    bool found = false;
    each([&]<class T>(T& c) {
      if constexpr (HandsOn<T, Run>) found = found || c.held_gives_weights();
      else if constexpr (GivesWeights<T, Run>) found = true;
    });
    return found;
  }
  void give_weights() const {
    each([&]<class T>(T& c) {
      if constexpr (GivesWeights<T, Run>) c.on_eval_weights(run);
    });
  }

  static constexpr bool any_state = (may_keep_state<C, Run> || ...);
  void save_states(CallbackStates& states) const {
    each_state([&](std::string name, auto& callback) {
      CallbackState state;
      callback.state(state);
      states.emplace_back(std::move(name), state.bytes());
    });
  }
  /// False if the state of a callback shows that the run is over.
  bool load_states(const CallbackStates& states) const {
    if (!any_state || states.empty()) return true;
    const bool asked = std::exchange(run.stop_requested, false);
    if constexpr (any_state)
      each_state([&](const std::string& name, auto& callback) {
        for (const auto& [known, bytes] : states)
          if (known == name) {
            CallbackState state(bytes);
            callback.state(state);
            if constexpr (requires { callback.on_train_resumed(run); }) callback.on_train_resumed(run);
          }
      });
    return !std::exchange(run.stop_requested, run.stop_requested || asked);
  }

 private:
  template <class F>
  void each(F f) const {
    const auto one = [&](auto& c) {
      if constexpr (CallbackRange<std::remove_reference_t<decltype(c)>, Run>) {
        for (auto& element : c) f(element);
      } else f(c);
    };
    detail::spread([&](auto&... c) { (one(c), ...); }, callbacks);
  }
  // Calls f(name, callback): the class, and for further ones of it their number.
  template <class F>
  void each_state(F f) const {
    std::vector<std::string> before;
    each([&]<class T>(T& callback) {
      if constexpr (KeepsState<T>) {
        std::string name(callback_state_prefix);
        if constexpr (HandsOn<T, Run>) {
          if (callback.held_name().empty()) return;
          name += callback.held_name();
        } else name += class_name<std::remove_const_t<T>>();
        long number = 1;
        for (const std::string& other : before) number += other == name;
        before.push_back(name);
        if (number > 1) name += text(".", number);
        f(std::move(name), callback);
      }
    });
  }
};
}  // namespace detail

}  // namespace tenon
