// A metric of one output of a network that has several.
#pragma once
#include <string>
#include <utility>

#include <tenon/nn/metric/metric.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric for output k of a network, counted from 0. It compares this output with its label: the output's own column
/// with nn::MultiLoss, else the last column. `nn::for_output<0>("class_accuracy", nn::Accuracy{})` makes one; the
/// string is the name of its number in the result of a Model's eval(). A metric that has more than one number adds none
/// to that result: read `model.metric<nn::ForOutput<0, nn::ConfusionMatrix>>().metric`.
template <int k, class M>
requires PredictionMetric<M> || ListMetric<M>
struct ForOutput {
  static_assert(k >= 0, "outputs of a network count from 0");
  static constexpr int output = k;
  std::string name;
  M metric;

  /// The metric's error for these types, if it has a check.
  static constexpr auto check(const TensorType& prediction, const TensorType& label)
      requires requires { M::check(prediction, label); }
  {
    return M::check(prediction, label);
  }
  void clear() { metric.clear(); }
  void update(const AnyTensor&, const AnyTensor& prediction, const AnyTensor& label) {
    metric.update(prediction, label);
  }
  void each_name(auto&& take) const {
    if constexpr (PredictionMetric<M>) take(std::string_view(name), std::string_view(M::name));
  }
  void report(auto&& add) const {
    if constexpr (PredictionMetric<M>) add(std::string_view(name), static_cast<double>(metric.eval()));
  }
};
template <int k, class M>
ForOutput<k, M> for_output(std::string name, M metric) {
  return {std::move(name), std::move(metric)};
}

}  // namespace tenon::nn
