// The outputs of one step, as callbacks and metrics see them.
#pragma once
#include <tuple>

#include <tenon/core/memory/growing.hpp>
#include <tenon/core/spread.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/run/executor.hpp>
#include <tenon/train/callback/net_outputs.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Views of the outputs, valid until the next step of the same kind. Training and evaluation have one each, so that an
/// evaluation inside of a training leaves the outputs of the training alone.
class StepOutputs {
 public:
  NetOutputs views() const {
#if defined(TENON_TARGET)
    if (step_) return {{step_->view.begin(), step_->view.size()}, arriving_.get(), step_};
#endif
    return std::span<const AnyTensor>(view_.begin(), view_.size());
  }

  /// Before the first step of a training or evaluation: those of the run before are not its.
  void begin_run() {
    clear();
#if defined(TENON_TARGET)
    if (arriving_) arriving_->begin_run();
#endif
  }
  /// The outputs of a compiled graph; they stay in its scratch memory.
  void take(Executor& executor);
  /// Outputs that stay where they are, one after the other.
  void clear() {
    view_.clear();
    kept_.clear();
#if defined(TENON_TARGET)
    step_ = nullptr;
#endif
  }
  void add(const AnyTensor& output) { view_.push_back(output); }
  /// Tensors, or tuples of them, from PyNative mode; they are kept alive here.
  template <class... V>
  void keep(const V&... values) {
    clear();
    (add(values), ...);
  }

 private:
  template <class T, class S>
  void add(const Tensor<T, S>& t) {
    view_.push_back(t.view());
    kept_.push_back(t.storage());
  }
  template <class... V>
  void add(const std::tuple<V...>& values) {
    detail::spread([&](const auto&... v) { (add(v), ...); }, values);
  }

  // Their memory stays from step to step.
  Growing<AnyTensor> view_;
  Growing<Storage> kept_;
#if defined(TENON_TARGET)
  Owned<ArrivingOutputs> arriving_;  // from the first step on the second target on
  ArrivingStep* step_ = nullptr;     // the last one there
#endif
};

#if TENON_DEFINES
TENON_INLINE void StepOutputs::take(Executor& executor) {
#if defined(TENON_TARGET)
  step_ = nullptr;
  if (executor.program().target != TargetId::cpu) {
    if (!arriving_) arriving_ = Owned<ArrivingOutputs>(new ArrivingOutputs);
    step_ = &arriving_->take(executor);
    return;
  }
#endif
  view_.clear();
  for (int k = 0; k < executor.program().outputs; ++k) view_.push_back(executor.output_view(k));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
