// Precision and recall of a class as one number: F-measures.
#pragma once
#include <tenon/nn/metric/count/class_rates.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Of each class, with precision P and recall R:  (1 + beta²) P R / (beta² P + R), 0 if both are. A beta above 1
/// gives recall more weight. eval() is the mean over the classes, per_class() has them all.
///
/// prediction, label  as of Accuracy
/// throws             ValueError unless beta > 0
/// source             MindSpore nn.Fbeta
class Fbeta : public detail::ClassMetric<Fbeta> {
 public:
  static constexpr std::string_view name = "fbeta", title = "Fbeta";
  explicit Fbeta(double beta) : weight_(beta * beta) {
    if (!(beta > 0)) throw_error<ValueError>("Fbeta needs a beta above 0, got ", beta, ".");
  }
  double rate(const ClassCount& c) const {
    const double p = detail::class_rate(c.right, c.predicted), r = detail::class_rate(c.right, c.wanted);
    return detail::class_rate((1 + weight_) * p * r, weight_ * p + r);
  }

 private:
  double weight_;
};

/// Fbeta with beta = 1: the harmonic mean of precision and recall. Source: MindSpore nn.F1
struct F1 : Fbeta {
  static constexpr std::string_view name = "F1";
  F1() : Fbeta(1) {}
};

}  // namespace tenon::nn
