// What a metric is.
#pragma once
#include <concepts>
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric of predictions: `name`, `clear()`, `update(prediction, label)`, `eval()`. It may have
/// `static constexpr Sentence check(const TensorType& prediction, const TensorType& label)`, which says in one sentence
/// why it cannot judge these types: then eval() of a Model does not compile.
template <class M>
concept PredictionMetric = requires(M& m, const AnyTensor& t) {
  { M::name } -> std::convertible_to<std::string_view>;
  m.clear();
  m.update(t, t);
  { m.eval() } -> std::convertible_to<double>;
};
/// A metric of the loss: its `update` takes the loss alone.
template <class M>
concept LossMetric = requires(M& m, const AnyTensor& t) {
  { M::name } -> std::convertible_to<std::string_view>;
  m.clear();
  m.update(t);
  { m.eval() } -> std::convertible_to<double>;
};
template <class M>
concept Metric = PredictionMetric<M> || LossMetric<M>;

}  // namespace tenon::nn
