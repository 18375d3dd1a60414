// AnyCallback: one type for all callbacks, so that a program can choose them at run time.
#pragma once
#include <utility>

#include <tenon/core/memory/owned.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/dataset/stage/data_info.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/step/run.hpp>

namespace tenon::inline TENON_ABI {

/// Holds any callback: `std::vector<AnyCallback> list{LossMonitor{100}, TimeMonitor{}}; model.train(10, data, list);`
///
/// The hooks see an R: a RunInfo, or the Run of one type of Models, for callbacks that evaluate, save, or steer. The
/// held object is a copy, or the moved-in original; copies of an AnyCallback share it. A class without a hook, or with
/// one that cannot be called, is a compile error.
template <class R>
class BasicAnyCallback : public detail::HandsOnTag {
 public:
  template <class C>
  requires(!std::is_same_v<std::remove_cvref_t<C>, BasicAnyCallback>)
  BasicAnyCallback(C callback) {
    constexpr bool is_observer = Observer<C>;
    static_assert(!is_observer, "an observer is given to train() by itself, not as an AnyCallback");
    if constexpr (detail::CheckedCallback<C, R>::ok)
      held_ = tenon::detail::Shared<Hooks>::template make<Holder<C>>(std::move(callback));
    else {
      using Wrong = Mistake<detail::CheckedCallback<C, R>>;
      static_cast<void>(Wrong::corrected);
    }
  }

  template <class E>
  void tell(R& run) {
    held_->tell(E::number, run);
  }

  template <class Data>
  void take_data(const Data& data) {
    held_->take_data(dataset::DataInfo(data));
  }

  /// The class of the held callback, if that has a state for training files.
  std::string_view held_name() const { return held_->name(); }
  void state(CallbackState& state) { held_->state(state); }
  void on_train_resumed(R& run) { held_->resumed(run); }
  void on_eval_weights(R& run) { held_->give_weights(run); }
  bool held_gives_weights() const { return held_->gives_weights(); }
  CallbackTurn held_turn() const { return held_->turn(); }

  /// The held callback if it is a C, else null: to read what a callback of a list has collected.
  template <class C>
  C* get() {
    auto* holder = dynamic_cast<Holder<C>*>(held_.get());
    return holder ? &holder->callback : nullptr;
  }

 private:
  struct Hooks {
    virtual ~Hooks() = default;
    virtual void tell(int event, R&) = 0;
    virtual void take_data(const dataset::DataInfo&) = 0;
    virtual std::string_view name() const = 0;
    virtual void state(CallbackState&) = 0;
    virtual void resumed(R&) = 0;
    virtual bool gives_weights() const = 0;
    virtual void give_weights(R&) = 0;
    virtual CallbackTurn turn() const = 0;
  };
  template <class C>
  struct Holder final : Hooks {
    C callback;
    explicit Holder(C c) : callback(std::move(c)) {}
    void tell(int event, R& run) override { hear(event, run, detail::Events{}); }
    void take_data([[maybe_unused]] const dataset::DataInfo& data) override {
      if constexpr (requires { callback.take_data(data); }) callback.take_data(data);
    }
    std::string_view name() const override {
      if constexpr (detail::KeepsState<C>) return class_name<C>();
      else return {};
    }
    void state([[maybe_unused]] CallbackState& state) override {
      if constexpr (detail::KeepsState<C>) callback.state(state);
    }
    void resumed([[maybe_unused]] R& run) override {
      if constexpr (requires { callback.on_train_resumed(run); }) callback.on_train_resumed(run);
    }
    bool gives_weights() const override { return detail::GivesWeights<C, R>; }
    void give_weights([[maybe_unused]] R& run) override {
      if constexpr (detail::GivesWeights<C, R>) callback.on_eval_weights(run);
    }
    CallbackTurn turn() const override { return detail::turn_of(callback); }

   private:
    template <class... E>
    void hear(int event, R& run, std::tuple<E...>) {
      static_cast<void>(((event == E::number && (detail::tell<E>(callback, run), true)) || ...));
    }
  };

  tenon::detail::Shared<Hooks> held_;
};

/// For any Model; its callbacks see a RunInfo.
using AnyCallback = BasicAnyCallback<RunInfo>;
/// For Models of one type; its callbacks see the Model, too: `std::vector<AnyCallbackOf<decltype(model)>> list`.
template <class M>
using AnyCallbackOf = BasicAnyCallback<Run<M>>;

}  // namespace tenon
