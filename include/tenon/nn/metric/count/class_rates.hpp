// What precision, recall, and F-measures have in common: counts per class, and a rate of each.
#pragma once
#include <limits>
#include <utility>
#include <vector>

#include <tenon/nn/metric/count/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// How often a class was predicted rightly, was predicted, and was the label.
struct ClassCount {
  double right = 0, predicted = 0, wanted = 0;
};

/// The meaning of the values of a multilabel metric. MindSpore returns a value per sample of all updates; the usual
/// definition of precision and recall of labels is per class.
enum class MultilabelValues { per_sample, per_class };

namespace detail {

/// right / all, 0 if there is none of them.
constexpr double class_rate(double right, double all) { return right / (all + std::numeric_limits<double>::min()); }

// What follows are templates, so that a program without such a metric compiles nothing of them.

template <class M>
std::vector<double> rates(const M& metric, const std::vector<ClassCount>& counts) {
  if (counts.empty())
    throw_error<RuntimeError>(M::title, " cannot be computed: update() was not called, or with 0 samples.");
  std::vector<double> result;
  for (const ClassCount& count : counts) result.push_back(metric.rate(count));
  return result;
}
template <class M>
double mean_rate(const M& metric, const std::vector<ClassCount>& counts) {
  const std::vector<double> all = rates(metric, counts);
  double sum = 0;
  for (const double rate : all) sum += rate;
  return sum / static_cast<double>(all.size());
}

/// A metric M of classes, which has `title` and `double rate(ClassCount) const`.
template <class M>
class ClassMetric {
 public:
  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_classes(M::title, prediction, label);
  }
  void clear() { counts_.clear(), classes_ = 0; }
  /// Throws ValueError with the sentence of check(), for a label that is none of the classes, and for another number
  /// of classes than before; nothing is counted then.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    std::vector<ClassCount> counts = counts_;
    each_class(M::title, prediction, label, classes_, [&](const ClassPlace& place) {
      const long predicted = place.predicted, wanted = place.wanted;
      if (wanted < 0 || wanted >= classes_)
        throw_error<ValueError>(M::title, " got the label ", wanted, ", the prediction has the classes 0 to ",
                                classes_ - 1, ".");
      counts.resize(static_cast<std::size_t>(classes_));
      counts[static_cast<std::size_t>(predicted)].right += predicted == wanted;
      counts[static_cast<std::size_t>(predicted)].predicted += 1;
      counts[static_cast<std::size_t>(wanted)].wanted += 1;
    });
    counts_ = std::move(counts);
  }
  /// The mean over the classes. Throws RuntimeError if nothing was counted.
  double eval() const { return mean_rate(static_cast<const M&>(*this), counts_); }
  /// The value of each class: 0 for one without anything to divide by. Throws as eval().
  std::vector<double> per_class() const { return rates(static_cast<const M&>(*this), counts_); }

 private:
  std::vector<ClassCount> counts_;
  long classes_ = 0;
};

/// A metric M of sets of labels, which has `title` and `double rate(ClassCount) const`.
template <class M>
class MultilabelMetric {
 public:
  MultilabelMetric() = default;
  explicit MultilabelMetric(MultilabelValues kept) : kept_(kept) {}

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_label_sets(M::title, prediction, label);
  }
  void clear() { counts_.clear(), classes_ = 0; }
  /// Throws ValueError with the sentence of check(), for elements that are not 0 or 1, and for another number of
  /// classes than before; nothing is counted then.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const bool per_sample = kept_ == MultilabelValues::per_sample;
    const std::size_t before = per_sample ? counts_.size() : 0;
    each_label(M::title, prediction, label, classes_, [&](long row, long c, bool predicted, bool wanted) {
      const auto at = before + static_cast<std::size_t>(per_sample ? row : c);
      if (at >= counts_.size()) counts_.resize(at + 1);
      counts_[at].right += predicted && wanted;
      counts_[at].predicted += predicted;
      counts_[at].wanted += wanted;
    });
  }
  /// The mean of values(). Throws RuntimeError if nothing was counted.
  double eval() const { return mean_rate(static_cast<const M&>(*this), counts_); }
  /// One per sample, those of an update after those of the updates before, or one per class. Throws as eval().
  std::vector<double> values() const { return rates(static_cast<const M&>(*this), counts_); }

 private:
  std::vector<ClassCount> counts_;
  long classes_ = 0;
  MultilabelValues kept_ = MultilabelValues::per_sample;
};

}  // namespace detail
}  // namespace tenon::nn
