// The events of a run, and the hooks of a callback that are notified of each.
#pragma once
#include <tuple>
#include <type_traits>

#include <tenon/core/config.hpp>
#include <tenon/train/callback/run/callback_turn.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

// An event has three hooks, each found by its name: `any` for every run (MindSpore 1.x), `train` and `eval` for one
// kind (MindSpore 2.x), which go before it. in_eval: whether `any` is notified of it in an evaluation.
struct Begin {
  static constexpr int number = 0;
  static constexpr bool in_eval = true;
  static void any(auto& c, auto& run) requires requires { c.begin(run); }
  {
    c.begin(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_begin(run); }
  {
    c.on_train_begin(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_begin(run); }
  {
    c.on_eval_begin(run);
  }
};
struct EpochBegin {
  static constexpr int number = 1;
  static constexpr bool in_eval = false;
  static void any(auto& c, auto& run) requires requires { c.epoch_begin(run); }
  {
    c.epoch_begin(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_epoch_begin(run); }
  {
    c.on_train_epoch_begin(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_epoch_begin(run); }
  {
    c.on_eval_epoch_begin(run);
  }
};
struct StepBegin {
  static constexpr int number = 2;
  static constexpr bool in_eval = true;
  static void any(auto& c, auto& run) requires requires { c.step_begin(run); }
  {
    c.step_begin(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_step_begin(run); }
  {
    c.on_train_step_begin(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_step_begin(run); }
  {
    c.on_eval_step_begin(run);
  }
};
struct StepEnd {
  static constexpr int number = 3;
  static constexpr bool in_eval = true;
  static void any(auto& c, auto& run) requires requires { c.step_end(run); }
  {
    c.step_end(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_step_end(run); }
  {
    c.on_train_step_end(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_step_end(run); }
  {
    c.on_eval_step_end(run);
  }
};
struct EpochEnd {
  static constexpr int number = 4;
  static constexpr bool in_eval = false;
  static void any(auto& c, auto& run) requires requires { c.epoch_end(run); }
  {
    c.epoch_end(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_epoch_end(run); }
  {
    c.on_train_epoch_end(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_epoch_end(run); }
  {
    c.on_eval_epoch_end(run);
  }
};
struct End {
  static constexpr int number = 5;
  static constexpr bool in_eval = true;
  static void any(auto& c, auto& run) requires requires { c.end(run); }
  {
    c.end(run);
  }
  static void train(auto& c, auto& run) requires requires { c.on_train_end(run); }
  {
    c.on_train_end(run);
  }
  static void eval(auto& c, auto& run) requires requires { c.on_eval_end(run); }
  {
    c.on_eval_end(run);
  }
};

using Events = std::tuple<Begin, EpochBegin, StepBegin, StepEnd, EpochEnd, End>;

template <class E, class C, class Run>
concept Hears = requires(C& c, Run& r) { E::any(c, r); } || requires(C& c, Run& r) { E::train(c, r); } ||
                requires(C& c, Run& r) { E::eval(c, r); };
/// Base of classes that forward events: AnyCallback.
struct HandsOnTag {};
template <class C, class Run>
concept HandsOn = std::is_base_of_v<HandsOnTag, C>;
template <class C, class Run>
concept HasHook = HandsOn<C, Run> || Hears<Begin, C, Run> || Hears<EpochBegin, C, Run> || Hears<StepBegin, C, Run> ||
                  Hears<StepEnd, C, Run> || Hears<EpochEnd, C, Run> || Hears<End, C, Run>;

/// A callback that prints or writes files. Where ranks share a training, only rank 0 tells it anything.
template <class C>
concept Writes = C::writes;
template <class C, class Run>
bool is_silent([[maybe_unused]] const C& c, [[maybe_unused]] const Run& run) {
  if constexpr (!requires { run.rank(); }) return false;
  else if constexpr (HandsOn<C, Run>) return run.rank() != 0 && c.held_turn() == CallbackTurn::saves;
  else return Writes<C> && run.rank() != 0;
}

/// Tells a callback of an event, if it has a hook for it.
template <class E, class C, class Run>
void tell(C& c, Run& run) {
  if (is_silent(c, run)) return;
  if constexpr (HandsOn<C, Run>) c.template tell<E>(run);
  else if (run.training) {
    if constexpr (requires { E::train(c, run); }) E::train(c, run);
    else if constexpr (requires { E::any(c, run); }) E::any(c, run);
  } else {
    if constexpr (requires { E::eval(c, run); }) E::eval(c, run);
    else if constexpr (E::in_eval && requires { E::any(c, run); }) {
      if (!run.in_fit) E::any(c, run);
    }
  }
}

// A class that inherits a name twice cannot take its address: that is how a hook is found whose signature does not fit.
struct HookNames {
  int begin, epoch_begin, step_begin, step_end, epoch_end, end;
  int on_train_begin, on_train_epoch_begin, on_train_step_begin, on_train_step_end, on_train_epoch_end, on_train_end;
  int on_eval_begin, on_eval_epoch_begin, on_eval_step_begin, on_eval_step_end, on_eval_epoch_end, on_eval_end;
  int on_train_resumed, on_eval_weights;
};
template <class C>
struct HookProbe : C, HookNames {};
// A number under such a name, as in `long begin = 100`, is a member like any other.
template <class M>
concept NumberMember = std::is_arithmetic_v<std::remove_cvref_t<M>>;

template <class C, class R>
constexpr bool hooks_fit() {
  if constexpr (std::is_class_v<C> && !std::is_final_v<C>) {
    using P = HookProbe<std::remove_const_t<C>>;
    const auto calls = [](bool absent, bool fits, bool number) { return absent || fits || number; };
    return calls(
               requires { &P::begin; }, requires(C& c, R& r) { Begin::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.begin)>; }) &&
           calls(
               requires { &P::epoch_begin; }, requires(C& c, R& r) { EpochBegin::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.epoch_begin)>; }) &&
           calls(
               requires { &P::step_begin; }, requires(C& c, R& r) { StepBegin::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.step_begin)>; }) &&
           calls(
               requires { &P::step_end; }, requires(C& c, R& r) { StepEnd::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.step_end)>; }) &&
           calls(
               requires { &P::epoch_end; }, requires(C& c, R& r) { EpochEnd::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.epoch_end)>; }) &&
           calls(
               requires { &P::end; }, requires(C& c, R& r) { End::any(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.end)>; }) &&
           calls(
               requires { &P::on_train_begin; }, requires(C& c, R& r) { Begin::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_begin)>; }) &&
           calls(
               requires { &P::on_train_epoch_begin; }, requires(C& c, R& r) { EpochBegin::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_epoch_begin)>; }) &&
           calls(
               requires { &P::on_train_step_begin; }, requires(C& c, R& r) { StepBegin::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_step_begin)>; }) &&
           calls(
               requires { &P::on_train_step_end; }, requires(C& c, R& r) { StepEnd::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_step_end)>; }) &&
           calls(
               requires { &P::on_train_epoch_end; }, requires(C& c, R& r) { EpochEnd::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_epoch_end)>; }) &&
           calls(
               requires { &P::on_train_end; }, requires(C& c, R& r) { End::train(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_end)>; }) &&
           calls(
               requires { &P::on_eval_begin; }, requires(C& c, R& r) { Begin::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_begin)>; }) &&
           calls(
               requires { &P::on_eval_epoch_begin; }, requires(C& c, R& r) { EpochBegin::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_epoch_begin)>; }) &&
           calls(
               requires { &P::on_eval_step_begin; }, requires(C& c, R& r) { StepBegin::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_step_begin)>; }) &&
           calls(
               requires { &P::on_eval_step_end; }, requires(C& c, R& r) { StepEnd::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_step_end)>; }) &&
           calls(
               requires { &P::on_eval_epoch_end; }, requires(C& c, R& r) { EpochEnd::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_epoch_end)>; }) &&
           calls(
               requires { &P::on_eval_end; }, requires(C& c, R& r) { End::eval(c, r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_end)>; }) &&
           calls(
               requires { &P::on_train_resumed; }, requires(C& c, R& r) { c.on_train_resumed(r); },
               requires(C& c) { requires NumberMember<decltype(c.on_train_resumed)>; }) &&
           calls(
               requires { &P::on_eval_weights; }, requires(C& c, R& r) { c.on_eval_weights(r); },
               requires(C& c) { requires NumberMember<decltype(c.on_eval_weights)>; });
  } else return true;
}
/// A method under a name that another library, or a slip of the pen gives to a hook. C++20 cannot list the methods of a
/// class, so beside a right hook only these are found; a class with no right hook is refused whatever its methods are
/// called.
template <class C, class R>
concept HasNearHook =
    requires(C& c, R& r) { c.on_begin(r); } || requires(C& c, R& r) { c.on_epoch_begin(r); } ||
    requires(C& c, R& r) { c.on_step_begin(r); } || requires(C& c, R& r) { c.on_step_end(r); } ||
    requires(C& c, R& r) { c.on_epoch_end(r); } || requires(C& c, R& r) { c.on_end(r); } ||
    requires(C& c, R& r) { c.train_begin(r); } || requires(C& c, R& r) { c.train_end(r); } ||
    requires(C& c, R& r) { c.eval_begin(r); } || requires(C& c, R& r) { c.eval_end(r); } ||
    requires(C& c, R& r) { c.on_train_batch_end(r); } || requires(C& c, R& r) { c.on_batch_end(r); } ||
    requires(C& c, R& r) { c.epoch_start(r); } || requires(C& c, R& r) { c.epoch_started(r); } ||
    requires(C& c, R& r) { c.epoch_ended(r); } || requires(C& c, R& r) { c.epoch_begins(r); } ||
    requires(C& c, R& r) { c.epoch_ends(r); } || requires(C& c, R& r) { c.step_start(r); } ||
    requires(C& c, R& r) { c.step_started(r); } || requires(C& c, R& r) { c.step_ended(r); } ||
    requires(C& c, R& r) { c.step_begins(r); } || requires(C& c, R& r) { c.step_ends(r); } ||
    requires(C& c, R& r) { c.begin_epoch(r); } || requires(C& c, R& r) { c.end_epoch(r); } ||
    requires(C& c, R& r) { c.begin_step(r); } || requires(C& c, R& r) { c.end_step(r); } ||
    requires(C& c, R& r) { c.epoch_being(r); } || requires(C& c, R& r) { c.epoch_edn(r); } ||
    requires(C& c, R& r) { c.step_being(r); } || requires(C& c, R& r) { c.step_edn(r); };

}  // namespace tenon::detail
TENON_INT_SIZES_END
