// The outputs of one step, as callbacks and metrics see them.
#pragma once
#include <tuple>

#include <tenon/core/spread.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/executor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Views of the outputs, valid until the next step of the same kind. Training and evaluation have one each, so that an
/// evaluation inside of a training leaves the outputs of the training alone.
class StepOutputs {
 public:
  std::span<const AnyTensor> views() const { return {view_, static_cast<std::size_t>(count_)}; }

  /// The outputs of a compiled graph; they stay in its scratch memory.
  void take(const Executor& executor);
  /// Outputs that stay where they are, one after the other.
  void clear() { count_ = 0; }
  void add(const AnyTensor& output) { view_[count_++] = output; }
  /// Tensors, or tuples of them, from PyNative mode; they are kept alive here.
  template <class... V>
  void keep(const V&... values) {
    count_ = 0;
    (add(values), ...);
  }

 private:
  template <class T, class S>
  void add(const Tensor<T, S>& t) {
    view_[count_] = t.view();
    kept_[count_++] = t.storage();
  }
  template <class... V>
  void add(const std::tuple<V...>& values) {
    detail::spread([&](const auto&... v) { (add(v), ...); }, values);
  }

  AnyTensor view_[max_outputs];
  Storage kept_[max_outputs];
  int count_ = 0;
};

#if TENON_DEFINES
TENON_INLINE void StepOutputs::take(const Executor& executor) {
  count_ = executor.program().outputs;
  for (int k = 0; k < count_; ++k) view_[k] = executor.output_view(k);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
