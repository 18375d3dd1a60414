// Recall: the share of the samples of a class that were predicted as this class.
#pragma once
#include <tenon/nn/metric/count/class_rates.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Of each class: right predictions of it / labels of it, 0 if it is no label. eval() is the mean over the classes,
/// per_class() has them all.
///
/// prediction, label  as of Accuracy
/// source             MindSpore nn.Recall with eval_type "classification"
struct Recall : detail::ClassMetric<Recall> {
  static constexpr std::string_view name = "recall", title = "Recall";
  static constexpr double rate(const ClassCount& c) { return detail::class_rate(c.right, c.wanted); }
};

/// The same of sets of labels: `MultilabelRecall{}` has a value per sample, right labels / labels that it has, as
/// MindSpore; `MultilabelRecall{MultilabelValues::per_class}` one per class over all samples. eval() is their mean.
///
/// prediction, label  [n, C, ...] of one shape and any dtype, 0 or 1
/// source             MindSpore nn.Recall with eval_type "multilabel"
struct MultilabelRecall : detail::MultilabelMetric<MultilabelRecall> {
  using MultilabelMetric::MultilabelMetric;
  static constexpr std::string_view name = "multilabel_recall", title = "MultilabelRecall";
  static constexpr double rate(const ClassCount& c) { return detail::class_rate(c.right, c.wanted); }
};

}  // namespace tenon::nn
