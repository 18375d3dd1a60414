// The requirements for a metric.
#pragma once
#include <concepts>
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric of predictions: `name`, `clear()`, `update(prediction, label)`, `eval()`. It may have `static constexpr
/// Sentence check(const TensorType& prediction, const TensorType& label)`, which returns a sentence if the metric
/// cannot use these types: eval() of a Model then does not compile.
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
/// A metric of predictions with more than one number, such as a matrix: `eval()` returns a range. A Model updates it,
/// and `model.metric<M>().eval()` returns its result; the result of the Model's eval() does not include it.
template <class M>
concept ListMetric = requires(M& m, const AnyTensor& t) {
  m.clear();
  m.update(t, t);
  m.eval().begin();
  m.eval().end();
};
/// Metrics under names of the user's, `nn::Named` or `nn::MetricSet`: `update(loss, prediction, label)`, and
/// `report(add)`, which calls add(name, number) for each. It may have `each_name(take)`, which calls take(name, name of
/// the metric's class) for each before there are numbers: callbacks then know what they can monitor.
template <class M>
concept MetricGroup = requires(M& m, const AnyTensor& t, void (*add)(std::string_view, double)) {
  m.clear();
  m.update(t, t, t);
  m.report(add);
};
/// One of these for an output of a network that has several, `nn::for_output`: `output` counts from 0.
template <class M>
concept OutputMetric = MetricGroup<M> && (M::output >= 0);
template <class M>
concept Metric = PredictionMetric<M> || LossMetric<M> || ListMetric<M> || MetricGroup<M>;

}  // namespace tenon::nn
