// Precision: the share of the samples predicted as a class that belong to the class.
#pragma once
#include <tenon/nn/metric/count/class_rates.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Of each class: right predictions of it / predictions of it, 0 if it was never predicted. eval() is the mean over the
/// classes, per_class() has them all.
///
/// prediction, label  as of Accuracy
/// source             MindSpore nn.Precision with eval_type "classification"
struct Precision : detail::ClassMetric<Precision> {
  static constexpr std::string_view name = "precision", title = "Precision";
  static constexpr double rate(const ClassCount& c) { return detail::class_rate(c.right, c.predicted); }
};

/// The same of sets of labels: `MultilabelPrecision{}` has a value per sample, right labels / predicted labels, as
/// MindSpore; `MultilabelPrecision{MultilabelValues::per_class}` one per class over all samples. eval() is their mean.
///
/// prediction, label  [n, C, ...] of one shape and any dtype, 0 or 1
/// source             MindSpore nn.Precision with eval_type "multilabel"
struct MultilabelPrecision : detail::MultilabelMetric<MultilabelPrecision> {
  using MultilabelMetric::MultilabelMetric;
  static constexpr std::string_view name = "multilabel_precision", title = "MultilabelPrecision";
  static constexpr double rate(const ClassCount& c) { return detail::class_rate(c.right, c.predicted); }
};

}  // namespace tenon::nn
