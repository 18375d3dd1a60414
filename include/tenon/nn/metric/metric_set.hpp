// Metrics that are chosen while a program runs: by their names, in sets and maps.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/nn/metric/confusion_matrix_metric.hpp>
#include <tenon/nn/metric/dice.hpp>
#include <tenon/nn/metric/fbeta.hpp>
#include <tenon/nn/metric/loss.hpp>
#include <tenon/nn/metric/mae.hpp>
#include <tenon/nn/metric/mse.hpp>
#include <tenon/nn/metric/naming/named.hpp>
#include <tenon/nn/metric/perplexity.hpp>
#include <tenon/nn/metric/precision.hpp>
#include <tenon/nn/metric/recall.hpp>
#include <tenon/nn/metric/top_k_categorical_accuracy.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric of any type that a Model takes and that has one number. A copy has its own counts.
class AnyMetric {
 public:
  template <class M>
  requires PredictionMetric<M> || LossMetric<M>
  AnyMetric(M metric) : held_(std::make_unique<Held<M>>(std::move(metric))) {}
  AnyMetric(const AnyMetric& other) : held_(other.held_->copy()) {}
  AnyMetric(AnyMetric&&) noexcept = default;
  AnyMetric& operator=(AnyMetric other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  void clear() { held_->clear(); }
  /// Updates the metric with the loss, or with prediction and label. Throws the errors of the metric.
  void update(const AnyTensor& loss, const AnyTensor& prediction, const AnyTensor& label) {
    held_->update(loss, prediction, label);
  }
  /// Throws the errors of the metric, and RuntimeError if nothing was counted.
  double eval() const { return held_->eval(); }
  /// The name of the metric's class.
  std::string_view kind() const { return held_->kind(); }
  /// The metric itself, or null if it is of another type: `metric.as<nn::Recall>()->per_class()`.
  template <class M>
  const M* as() const {
    const auto* held = dynamic_cast<const Held<M>*>(held_.get());
    return held ? &held->named.metric : nullptr;
  }

 private:
  struct Holder {
    virtual ~Holder() = default;
    virtual std::unique_ptr<Holder> copy() const = 0;
    virtual void clear() = 0;
    virtual void update(const AnyTensor& loss, const AnyTensor& prediction, const AnyTensor& label) = 0;
    virtual double eval() const = 0;
    virtual std::string_view kind() const = 0;
  };
  template <class M>
  struct Held final : Holder {
    Named<M> named;
    explicit Held(M metric) : named{"", std::move(metric)} {}
    std::unique_ptr<Holder> copy() const override { return std::make_unique<Held>(named.metric); }
    void clear() override { named.clear(); }
    void update(const AnyTensor& loss, const AnyTensor& prediction, const AnyTensor& label) override {
      named.update(loss, prediction, label);
    }
    double eval() const override { return static_cast<double>(named.metric.eval()); }
    std::string_view kind() const override { return M::name; }
  };
  std::unique_ptr<Holder> held_;
};

namespace detail {
struct KnownMetric {
  std::string_view name;
  AnyMetric (*make)();            // null for one that cannot be made of its name alone,
  std::string_view instead = {};  // which says what to write
};
template <class M>
AnyMetric make_metric() {
  return M{};
}
inline constexpr KnownMetric known_metrics[]{
    {"accuracy", make_metric<Accuracy>},
    {"acc", make_metric<Accuracy>},
    {"precision", make_metric<Precision>},
    {"recall", make_metric<Recall>},
    {"F1", make_metric<F1>},
    {"mae", make_metric<MAE>},
    {"mse", make_metric<MSE>},
    {"loss", make_metric<Loss>},
    {"top_1_accuracy", make_metric<Top1CategoricalAccuracy>},
    {"top_5_accuracy", make_metric<Top5CategoricalAccuracy>},
    {"dice", make_metric<Dice>},
    {"perplexity", make_metric<Perplexity>},
    {"confusion_matrix_metric", make_metric<ConfusionMatrixMetric>},
    {"multilabel_accuracy", make_metric<MultilabelAccuracy>},
    {"multilabel_precision", make_metric<MultilabelPrecision>},
    {"multilabel_recall", make_metric<MultilabelRecall>},
    {"fbeta", nullptr, "it needs a number: nn::Fbeta{2}"},
    {"topk", nullptr, "it needs a number: nn::TopKCategoricalAccuracy{3}"},
    {"confusion_matrix", nullptr, "it is a matrix: give the Model nn::ConfusionMatrix{classes}"},
    {"roc", nullptr, "it is a curve: give the Model nn::ROC{}"},
    {"cosine_similarity", nullptr, "it takes no labels: call nn::CosineSimilarity{} by hand"},
    {"bleu_score", nullptr, "it takes words: call nn::BleuScore{} by hand"},
    {"hausdorff_distance", nullptr, "it takes the label of a region: call nn::HausdorffDistance{} by hand"},
    {"mean_surface_distance", nullptr, "it takes the label of a region: call nn::MeanSurfaceDistance{} by hand"},
    {"root_mean_square_distance", nullptr, "it takes the label of a region: call nn::RootMeanSquareDistance{} by hand"},
};
}  // namespace detail

/// The metric with this MindSpore name, with default settings. Throws KeyError for an unknown name, ValueError for a
/// metric that needs settings.
inline AnyMetric metric_by_name(std::string_view name) {
  std::vector<std::string> names;
  for (const detail::KnownMetric& known : detail::known_metrics) {
    names.push_back(std::string(known.name));
    if (known.name != name) continue;
    if (!known.make)
      throw_error<ValueError>("The metric '", name, "' cannot be made of its name: ", known.instead, ".");
    return known.make();
  }
  throw_error<KeyError>("There is no metric '", name, "', there are ", quoted_list(names), ".",
                        did_you_mean(name, names));
}

/// Metrics for a Model by names: `nn::MetricSet{"accuracy", "loss", {"top 3", nn::TopKCategoricalAccuracy{3}}}` after
/// the optimizer; add() adds further metrics, for example from a file. A metric that cannot use the types of the
/// network throws at run time.
class MetricSet {
 public:
  /// A name that metric_by_name knows, or a custom name and a metric.
  struct Item {
    std::string name;
    AnyMetric metric;
    Item(const char* known) : name(known), metric(metric_by_name(known)) {}
    Item(const std::string& known) : name(known), metric(metric_by_name(known)) {}
    template <class M>
    requires std::convertible_to<M, AnyMetric>
    Item(std::string own, M measured) : name(std::move(own)), metric(std::move(measured)) {}
  };

  MetricSet() = default;
  MetricSet(std::initializer_list<Item> items) {
    for (const Item& item : items) add(item);
  }
  /// Throws ValueError for a repeated name.
  void add(Item item) {
    for (const Item& known : items_)
      if (known.name == item.name)
        throw_error<ValueError>("There are two metrics '", item.name, "': give one another name, {\"other\", metric}.");
    items_.push_back(std::move(item));
  }
  /// Throws KeyError with the names of all metrics.
  const AnyMetric& operator[](std::string_view name) const {
    std::vector<std::string> names;
    for (const Item& item : items_) {
      if (item.name == name) return item.metric;
      names.push_back(item.name);
    }
    throw_error<KeyError>("There is no metric '", name, "', the set has ", quoted_list(names), ".",
                          did_you_mean(name, names));
  }

  void clear() {
    for (Item& item : items_) item.metric.clear();
  }
  void update(const AnyTensor& loss, const AnyTensor& prediction, const AnyTensor& label) {
    for (Item& item : items_) item.metric.update(loss, prediction, label);
  }
  void each_name(auto&& take) const {
    for (const Item& item : items_) take(std::string_view(item.name), item.metric.kind());
  }
  void report(auto&& add_number) const {
    for (const Item& item : items_) add_number(std::string_view(item.name), item.metric.eval());
  }

 private:
  std::vector<Item> items_;
};

}  // namespace tenon::nn
