// Rates of right and wrong labels.
#include <cmath>

#include <tenon/nn/metric/confusion_matrix_metric.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

namespace {
double rate(nn::ConfusionRate wanted, nn::ConfusionMetricOptions options = {}) {
  nn::ConfusionMatrixMetric metric{wanted, options};
  update(metric, Ints{{2, 2, 1}, {0, 1, 1, 0}}, Ints{{2, 2, 1}, {0, 1, 0, 1}});
  return metric.eval();
}
}  // namespace

TEST_CASE("confusion matrix metric: MindSpore's numbers") {
  using enum nn::ConfusionRate;
  for (const auto wanted :
       {sensitivity, specificity, precision, negative_predictive_value, miss_rate, fall_out, false_discovery_rate,
        false_omission_rate, prevalence, accuracy, balanced_accuracy, f1_score, fowlkes_mallows_index})
    CHECK(rate(wanted) == 0.5);
  CHECK(rate(threat_score) == doctest::Approx(1.0 / 3));
  for (const auto wanted : {matthews_correlation_coefficient, informedness, markedness}) CHECK(rate(wanted) == 0);
  CHECK(std::isnan(rate(prevalence_threshold)));
}

TEST_CASE("confusion matrix metric: rates by hand, where all four counts differ") {
  using enum nn::ConfusionRate;
  const nn::ConfusionCounts counts{.true_positive = 6, .false_positive = 2, .true_negative = 10, .false_negative = 3};
  const auto near = [&](nn::ConfusionRate wanted, double expected) {
    CAPTURE(expected);
    CHECK(counts.rate(wanted) == doctest::Approx(expected));
  };
  const double tpr = 6.0 / 9, tnr = 10.0 / 12, ppv = 6.0 / 8, npv = 10.0 / 13;
  near(sensitivity, tpr), near(miss_rate, 1 - tpr);
  near(specificity, tnr), near(fall_out, 1 - tnr);
  near(precision, ppv), near(false_discovery_rate, 1 - ppv);
  near(negative_predictive_value, npv), near(false_omission_rate, 1 - npv);
  near(prevalence, 9.0 / 21), near(accuracy, 16.0 / 21), near(threat_score, 6.0 / 11);
  near(f1_score, 2 * ppv * tpr / (ppv + tpr));
  near(balanced_accuracy, (tpr + tnr) / 2), near(informedness, tpr + tnr - 1), near(markedness, ppv + npv - 1);
  near(fowlkes_mallows_index, std::sqrt(ppv * tpr));
  near(matthews_correlation_coefficient, std::sqrt((tpr + tnr - 1) * (ppv + npv - 1)));
  near(prevalence_threshold, std::sqrt(1 - tnr) / (std::sqrt(tpr) + std::sqrt(1 - tnr)));
}

TEST_CASE("confusion matrix metric: without the first channel") {
  // class 1 alone: predicted 1, 0; true 1, 1
  CHECK(rate(nn::ConfusionRate::specificity, {.first_channel = false}) != 0.5);
  CHECK(rate(nn::ConfusionRate::sensitivity, {.first_channel = false}) == 0.5);
  CHECK(rate(nn::ConfusionRate::precision, {.first_channel = false}) == 1);
}

TEST_CASE("confusion matrix metric: per sample, the mean of what is defined") {
  const Ints prediction{{2, 2, 2}, {1, 0, 0, 0, 1, 1, 0, 0}}, label{{2, 2, 2}, {1, 1, 0, 0, 1, 1, 1, 0}};
  nn::ConfusionMatrixMetric whole, samples{nn::ConfusionRate::sensitivity, {.per_sample = true}};
  update(whole, prediction, label);
  update(samples, prediction, label);
  CHECK(whole.eval() == doctest::Approx(3.0 / 5));
  CHECK(samples.eval() == doctest::Approx((0.5 + (1.0 + 0) / 2) / 2));  // of sample 0 class 1 has no labels
  nn::ConfusionMatrixMetric undefined{nn::ConfusionRate::sensitivity, {.per_sample = true}};
  update(undefined, Ints{{1, 1, 2}, {1, 0}}, Ints{{1, 1, 2}, {0, 0}});
  CHECK(std::isnan(undefined.eval()));
}

TEST_CASE("confusion matrix metric: what it refuses") {
  nn::ConfusionMatrixMetric metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  CHECK_THROWS_AS(update(metric, Ints{{1, 2}, {0, 2}}, Ints{{1, 2}, {0, 1}}), ValueError);
  CHECK_THROWS_AS(update(metric, Ints{{1, 2}, {0, 1}}, Ints{{2, 1}, {0, 1}}), ValueError);
  update(metric, Ints{{0, 2}, {}}, Ints{{0, 2}, {}});
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}
