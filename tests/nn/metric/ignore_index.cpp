// Metrics of classes without the places of one label.
#include <tenon/nn/loss/cross_entropy.hpp>
#include <tenon/nn/metric/confusion_matrix.hpp>
#include <tenon/nn/metric/ignore_index.hpp>
#include <tenon/nn/metric/naming/for_output.hpp>
#include <tenon/nn/metric/naming/named.hpp>
#include <tenon/nn/metric/perplexity.hpp>
#include <tenon/nn/metric/recall.hpp>
#include <tenon/nn/metric/top_k_categorical_accuracy.hpp>

#include "../../train/small.hpp"
#include "support.hpp"

using namespace tenon;
using namespace batches;

namespace {
// Classes 2, 0, 1, 0 of the tokens of two texts, as [n, T, C] and [n, C, T].
Floats tokens() { return {{2, 2, 3}, {0, 1, 2, 5, 3, 4, 0, 9, 0, 1, 0, 0}}; }
Floats channels() { return {{2, 3, 2}, {0, 5, 1, 3, 2, 4, 0, 1, 9, 0, 0, 0}}; }

struct Tagger : nn::Cell<Tagger> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }  // x: [n, 4, 3]
};
}  // namespace

TEST_CASE("ignore_index: the other places are judged as they would be alone") {
  nn::IgnoreIndex accuracy{-100, nn::Accuracy{}};
  for (const Floats& prediction : {tokens(), channels()}) {
    accuracy.clear();
    update(accuracy, prediction, Ints{{2, 2}, {2, -100, 1, 1}});
    CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  }
  nn::IgnoreIndex recall{255, nn::Recall{}};
  update(recall, tokens(), Ints{{2, 2}, {2, 0, 255, 1}});
  CHECK(recall.metric.per_class() == std::vector<double>{1, 0, 1});
  nn::IgnoreIndex matrix{0, nn::ConfusionMatrix{3}};
  update(matrix, tokens(), Batch<std::int64_t>{{2, 2}, {2, 0, 0, 1}});
  check_near(matrix.eval(), {0, 0, 0, 1, 0, 0, 0, 0, 1});
  nn::IgnoreIndex top{-1, nn::TopKCategoricalAccuracy{2}};
  update(top, tokens(), Ints{{2, 2}, {-1, 2, -1, 2}});
  CHECK(top.eval() == 0.5);
  nn::IgnoreIndex perplexity{-1, nn::Perplexity::of_logits()};
  nn::Perplexity alone = nn::Perplexity::of_logits();
  update(perplexity, tokens(), Ints{{2, 2}, {-1, 2, -1, 0}});
  update(alone, Floats{{2, 3}, {5, 3, 4, 1, 0, 0}}, Ints{{2}, {2, 0}});
  CHECK(perplexity.eval() == alone.eval());
}

TEST_CASE("ignore_index: what is left out everywhere, empty, or does not fit") {
  nn::IgnoreIndex accuracy{7, nn::Accuracy{}};
  update(accuracy, Floats{{2, 3}, {1, 2, 3, 1, 2, 3}}, Ints{{2}, {7, 7}});
  update(accuracy, Floats{{0, 2, 3}, {}}, Ints{{0, 2}, {}});
  CHECK_THROWS_AS(accuracy.eval(), RuntimeError);
  CHECK_THROWS_WITH_AS(update(accuracy, Floats{{2, 3}, {1, 2, 3, 1, 2, 3}}, Ints{{3}, {1, 1, 1}}),
                       "IgnoreIndex needs labels int32 or int64 that lack an axis of the predictions, got [2,3] and "
                       "int32 [3].",
                       ValueError);
  CHECK_THROWS_WITH_AS(update(accuracy, Floats{{2, 1}, {1, 2}}, Ints{{2}, {0, 0}}),
                       "Accuracy compares classes, and got one number per sample, float32 [n,1]: give two classes two "
                       "outputs and nn::SoftmaxCrossEntropyWithLogits; nn::MAE{} and nn::Loss{} judge a regression.",
                       ValueError);
  using Ignoring = nn::IgnoreIndex<nn::Accuracy>;
  static_assert(nn::PredictionMetric<Ignoring> && nn::ListMetric<nn::IgnoreIndex<nn::ConfusionMatrix>>);
  static_assert(Ignoring::check({{dyn, 5, 2}, 3, Dtype::float32}, {{dyn, 5}, 2, Dtype::int64}).empty());
  static_assert(!Ignoring::check({{dyn, 2}, 2, Dtype::float32}, {{dyn, 2}, 2, Dtype::int32}).empty());
}

TEST_CASE("ignore_index: in a Model, in both modes, beside others") {
  std::vector<std::int32_t> labels(40);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 4 == 3 ? -100 : std::int32_t(i % 2);
  const auto data = dataset::from_arrays(dataset::column<Shape<4, 3>>(std::vector<float>(120, 0.5f)),
                                         dataset::column<Shape<4>>(labels)) |
                    dataset::batch(4);  // 4, 4, 2
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Tagger net;
    using Loss = nn::CrossEntropyLoss<nn::Reduction::mean, nn::CrossEntropyConfig{.ignore_index = -100}>;
    Model model{net,
                Loss{},
                NoOptimizer{},
                nn::IgnoreIndex{-100, nn::Accuracy{}},
                nn::Named{"all", nn::Accuracy{}},
                nn::Named{"recall of all", nn::IgnoreIndex{-100, nn::Recall{}}}};
    const auto result = model.eval(data);
    const bool first = result["accuracy"] > 0.5;  // all places get one class: 20 of 30 labels are 0
    CHECK(result["accuracy"] == doctest::Approx(first ? 2.0 / 3 : 1.0 / 3));
    CHECK(result["all"] == doctest::Approx(first ? 0.5 : 0.25));
    CHECK(result["recall of all"] == doctest::Approx(0.5));
  }
}
