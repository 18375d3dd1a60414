// What precision, recall, and F-measures have in common: counts per class, and a rate of each.
#pragma once
#include <limits>
#include <vector>

#include <tenon/nn/metric/classes.hpp>

namespace tenon::inline TENON_ABI::nn {

/// How often a class was predicted rightly, was predicted, and was the label.
struct ClassCount {
  double right = 0, predicted = 0, wanted = 0;
};

/// What the values of a multilabel metric stand for. MindSpore has one per sample of all updates; per class is what
/// others mean by precision and recall of labels.
enum class MultilabelValues { per_sample, per_class };

namespace detail {

/// The counts of all updates.
class ClassCounts {
 public:
  void clear() { counts_.clear(), classes_ = 0; }
  void add_classes(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label);
  void add_labels(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label, MultilabelValues kept);
  /// Throws RuntimeError if nothing was counted.
  const std::vector<ClassCount>& counts(std::string_view metric) const;

 private:
  std::vector<ClassCount> counts_;
  long classes_ = 0;
};

/// right / all, 0 if there is none of them.
constexpr double class_rate(double right, double all) { return right / (all + std::numeric_limits<double>::min()); }

template <class M>
double mean_rate(const M& metric, const std::vector<ClassCount>& counts) {
  double sum = 0;
  for (const ClassCount& count : counts) sum += metric.rate(count);
  return sum / static_cast<double>(counts.size());
}
template <class M>
std::vector<double> rates(const M& metric, const std::vector<ClassCount>& counts) {
  std::vector<double> result;
  for (const ClassCount& count : counts) result.push_back(metric.rate(count));
  return result;
}

/// A metric M of classes, which says `title` and `double rate(ClassCount) const`.
template <class M>
class ClassMetric {
 public:
  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_classes(M::title, prediction, label);
  }
  void clear() { counts_.clear(); }
  /// Throws ValueError with the sentence of check(), for a label that is none of the classes, and for another number
  /// of classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label) { counts_.add_classes(M::title, prediction, label); }
  /// The mean over the classes. Throws RuntimeError if nothing was counted.
  double eval() const { return mean_rate(self(), counts_.counts(M::title)); }
  /// The value of each class: 0 for one without anything to divide by. Throws as eval().
  std::vector<double> per_class() const { return rates(self(), counts_.counts(M::title)); }

 private:
  const M& self() const { return static_cast<const M&>(*this); }
  ClassCounts counts_;
};

/// A metric M of sets of labels, which says `title` and `double rate(ClassCount) const`.
template <class M>
class MultilabelMetric {
 public:
  MultilabelMetric() = default;
  explicit MultilabelMetric(MultilabelValues kept) : kept_(kept) {}

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    return wrong_label_sets(M::title, prediction, label);
  }
  void clear() { counts_.clear(); }
  /// Throws ValueError with the sentence of check(), for elements that are not 0 or 1, and for another number of
  /// classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    counts_.add_labels(M::title, prediction, label, kept_);
  }
  /// The mean of values(). Throws RuntimeError if nothing was counted.
  double eval() const { return mean_rate(self(), counts_.counts(M::title)); }
  /// One per sample, those of an update behind those of the updates before, or one per class. Throws as eval().
  std::vector<double> values() const { return rates(self(), counts_.counts(M::title)); }

 private:
  const M& self() const { return static_cast<const M&>(*this); }
  ClassCounts counts_;
  MultilabelValues kept_ = MultilabelValues::per_sample;
};

#if TENON_DEFINES
TENON_INLINE void ClassCounts::add_classes(std::string_view metric, const AnyTensor& prediction,
                                           const AnyTensor& label) {
  // First all, then the sums: an update that throws has counted nothing.
  std::vector<ClassCount> added;
  each_class(metric, prediction, label, classes_, [&](long predicted, long wanted) {
    if (wanted < 0 || wanted >= classes_)
      throw_error<ValueError>(metric, " got the label ", wanted, ", the prediction has the classes 0 to ", classes_ - 1,
                              ".");
    added.resize(static_cast<std::size_t>(classes_));
    added[static_cast<std::size_t>(predicted)].right += predicted == wanted;
    added[static_cast<std::size_t>(predicted)].predicted += 1;
    added[static_cast<std::size_t>(wanted)].wanted += 1;
  });
  if (added.size() > counts_.size()) counts_.resize(added.size());
  for (std::size_t i = 0; i < added.size(); ++i) {
    counts_[i].right += added[i].right;
    counts_[i].predicted += added[i].predicted;
    counts_[i].wanted += added[i].wanted;
  }
}
TENON_INLINE void ClassCounts::add_labels(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label,
                                          MultilabelValues kept) {
  const std::size_t before = kept == MultilabelValues::per_sample ? counts_.size() : 0;
  each_label(metric, prediction, label, classes_, [&](long row, long c, bool predicted, bool wanted) {
    const auto at = before + static_cast<std::size_t>(kept == MultilabelValues::per_sample ? row : c);
    if (at >= counts_.size()) counts_.resize(at + 1);
    counts_[at].right += predicted && wanted;
    counts_[at].predicted += predicted;
    counts_[at].wanted += wanted;
  });
}
TENON_INLINE const std::vector<ClassCount>& ClassCounts::counts(std::string_view metric) const {
  if (counts_.empty())
    throw_error<RuntimeError>(metric, " cannot be computed: update() was not called, or with 0 samples.");
  return counts_;
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon::nn
