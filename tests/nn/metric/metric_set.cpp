// Metrics by name, in sets and maps.
#include <tenon/nn/metric/metric_set.hpp>

#include "../../train/small.hpp"
#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("metric by name: MindSpore's names, and what else was meant") {
  nn::AnyMetric metric = nn::metric_by_name("acc");
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  Floats prediction = two_classes();
  Ints label = two_labels();
  metric.update({}, prediction.view(), label.view());
  CHECK(metric.eval() == doctest::Approx(2.0 / 3));
  REQUIRE(metric.as<nn::Accuracy>() != nullptr);
  CHECK(metric.as<nn::Accuracy>()->eval() == metric.eval());
  CHECK(metric.as<nn::Recall>() == nullptr);
  nn::AnyMetric copy = metric;
  metric.clear();
  CHECK(copy.eval() == doctest::Approx(2.0 / 3));
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  metric = copy;
  CHECK(metric.eval() == copy.eval());
  CHECK_THROWS_WITH_AS(nn::metric_by_name("acuracy"), doctest::Contains("Did you mean 'accuracy'?"), KeyError);
  CHECK_THROWS_WITH_AS(nn::metric_by_name("acuracy"), doctest::Contains("There is no metric 'acuracy', there are "),
                       KeyError);
  CHECK_THROWS_WITH_AS(
      nn::metric_by_name("topk"),
      "The metric 'topk' cannot be made of its name: it needs a number: nn::TopKCategoricalAccuracy{3}.", ValueError);
}

TEST_CASE("metric set: names in a set and a map, in both modes the same numbers") {
  double loss[2]{};
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 3});
    small::Net net;
    nn::MetricSet set{"accuracy", "loss", {"top 2", nn::TopKCategoricalAccuracy{2}}, {"cost", nn::Loss{}}};
    const std::string chosen = "recall";
    set.add(chosen);
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, set, nn::Named{"plain", nn::Accuracy{}}};
    const auto result = model.eval(small::ten());
    CHECK(result["accuracy"] == result["plain"]);
    CHECK(result["top 2"] == 1);
    CHECK(result["cost"] == result["loss"]);
    loss[mode == Mode::graph] = result["loss"];
    const nn::AnyMetric& recall = model.metric<nn::MetricSet>()["recall"];
    const auto per_class = recall.as<nn::Recall>()->per_class();
    CHECK((per_class[0] + per_class[1]) / 2 == result["recall"]);
    const auto again = model.eval(small::ten());
    CHECK(again["loss"] == result["loss"]);                 // cleared in between
    CHECK_THROWS_AS(set["accuracy"].eval(), RuntimeError);  // the Model has a copy
  }
  CHECK(loss[0] == loss[1]);
  CHECK(loss[0] > 0);
}

TEST_CASE("metric set: a name is there once, and asked for by a known name") {
  CHECK_THROWS_WITH_AS((nn::MetricSet{"mae", {"mae", nn::MSE{}}}),
                       "There are two metrics 'mae': give one another name, {\"other\", metric}.", ValueError);
  CHECK_THROWS_AS(nn::MetricSet{"nothing"}, KeyError);
  const nn::MetricSet set{"mae", "mse"};
  std::string kinds;
  nn::MetricSet{{"accuracy_loss", nn::Accuracy{}}, "mae"}.each_name(
      [&](std::string_view name, std::string_view kind) { kinds.append(name).append("=").append(kind).append(" "); });
  CHECK(kinds == "accuracy_loss=accuracy mae=mae ");
  CHECK_THROWS_WITH_AS(set["mze"], doctest::Contains("There is no metric 'mze', the set has 'mae', 'mse'."), KeyError);
}

TEST_CASE("metric set: what a metric has against the network is said when it runs") {
  small::Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, NoOptimizer{}, nn::MetricSet{"mae"}};
  CHECK_THROWS_WITH_AS(model.eval(small::ten()),
                       "MAE needs a prediction and a target [n,...] of one shape, got [4,2] and [4].", ValueError);
}
