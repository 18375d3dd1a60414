// A metric with a custom name.
#pragma once
#include <string>
#include <utility>

#include <tenon/nn/metric/count/mean_over.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric whose number has another name in the result of a Model's eval(): `nn::Named{"hits", nn::Accuracy{}}` is
/// `result["hits"]`. A Model can then have two metrics of the same class.
template <class M>
requires PredictionMetric<M> || LossMetric<M>
struct Named {
  std::string name;
  M metric;

  /// The metric's error for these types, if it has a check.
  static constexpr auto check(const TensorType& prediction, const TensorType& label)
      requires requires { M::check(prediction, label); }
  {
    return M::check(prediction, label);
  }
  void clear() { metric.clear(); }
  void update(const AnyTensor& loss, const AnyTensor& prediction, const AnyTensor& label) {
    if constexpr (LossMetric<M>) detail::update_loss(metric, loss, label);
    else metric.update(prediction, label);
  }
  void each_name(auto&& take) const { take(std::string_view(name), std::string_view(M::name)); }
  void report(auto&& add) const { add(std::string_view(name), static_cast<double>(metric.eval())); }
};
template <class M>
Named(std::string, M) -> Named<M>;

}  // namespace tenon::nn
