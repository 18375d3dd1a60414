// Metrics under names of the user's, and lists of numbers, in a Model.
#include <tenon/nn/metric/confusion_matrix.hpp>
#include <tenon/nn/metric/cosine_similarity.hpp>
#include <tenon/nn/metric/naming/named.hpp>
#include <tenon/nn/metric/precision.hpp>
#include <tenon/nn/metric/top_k_categorical_accuracy.hpp>

#include "../../train/small.hpp"
#include "support.hpp"

using namespace tenon;
using namespace batches;

namespace {
template <class M>
constexpr bool says_what_it_judges = requires(TensorType t) { M::check(t, t); };

/// Evaluates a Model with these metrics in a mode.
template <class F, class... M>
void evaluate(Mode mode, F check, M... metrics) {
  const ContextScope scope({.mode = mode, .seed = 3});
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, std::move(metrics)...};
  const auto result = model.eval(small::ten());
  check(model, result);
}
}  // namespace

TEST_CASE("named: a metric under another name, two of a kind, of predictions and of the loss") {
  for (const Mode mode : {Mode::graph, Mode::pynative})
    evaluate(
        mode,
        [](const auto& model, const EvalResult& result) {
          CHECK(result["hits"] == result["accuracy"]);
          CHECK(result["top 1"] == result["accuracy"]);
          CHECK(result["top 2"] == 1);
          CHECK(result["cost"] == result["loss"]);
          CHECK(std::distance(result.begin(), result.end()) == 6);
          using Named = nn::Named<nn::Accuracy>;
          CHECK(model.template metric<Named>().metric.eval() == result["hits"]);
          CHECK_THROWS_AS(result["topk"], KeyError);
        },
        nn::Accuracy{}, nn::Loss{}, nn::Named{"hits", nn::Accuracy{}}, nn::Named{"cost", nn::Loss{}},
        nn::Named{"top 1", nn::Top1CategoricalAccuracy{}}, nn::Named{"top 2", nn::TopKCategoricalAccuracy{2}});
}

TEST_CASE("named: it refuses the types that its metric refuses, where the metric says so") {
  constexpr TensorType scores{{dyn, 2}, 2, Dtype::float32}, labels{{dyn}, 1, Dtype::int32};
  using Named = nn::Named<nn::Accuracy>;
  static_assert(Named::check(scores, labels).empty());
  static_assert(!Named::check(labels, labels).empty());
  static_assert(says_what_it_judges<Named> && !says_what_it_judges<nn::Named<nn::Loss>>);
  static_assert(nn::MetricGroup<Named> && !nn::PredictionMetric<Named>);
}

TEST_CASE("a Model updates a metric of many numbers, and has none of it among its results") {
  static_assert(nn::ListMetric<nn::ConfusionMatrix> && !nn::PredictionMetric<nn::ConfusionMatrix>);
  static_assert(!nn::Metric<nn::CosineSimilarity>);
  std::vector<double> matrices[2];
  for (const Mode mode : {Mode::graph, Mode::pynative})
    evaluate(
        mode,
        [&](const auto& model, const EvalResult& result) {
          auto& matrix = matrices[mode == Mode::graph];
          matrix = model.template metric<nn::ConfusionMatrix>().eval();
          CHECK((matrix[0] + matrix[3]) / 10 == doctest::Approx(result["accuracy"]));
          CHECK(matrix[0] + matrix[1] + matrix[2] + matrix[3] == 10);
          CHECK(std::distance(result.begin(), result.end()) == 2);
          const auto per_class = model.template metric<nn::Precision>().per_class();
          CHECK((per_class[0] + per_class[1]) / 2 == result["precision"]);
        },
        nn::Accuracy{}, nn::ConfusionMatrix{2}, nn::Precision{});
  CHECK(matrices[0] == matrices[1]);
}
