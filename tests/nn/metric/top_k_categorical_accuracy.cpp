// Labels among the k largest predictions.
#include <cmath>

#include <tenon/nn/metric/top_k_categorical_accuracy.hpp>

#include "../../support/logged.hpp"
#include "support.hpp"

using namespace tenon;
using namespace batches;

namespace {
Floats five_classes() {
  return {{3, 5}, {0.2f, 0.5f, 0.3f, 0.6f, 0.2f, 0.1f, 0.35f, 0.5f, 0.2f, 0, 0.9f, 0.6f, 0.2f, 0.01f, 0.3f}};
}
double share_of(int k, const Floats& prediction, const Ints& label) {
  nn::TopKCategoricalAccuracy metric{k};
  update(metric, prediction, label);
  return metric.eval();
}
}  // namespace

TEST_CASE("top k: MindSpore's numbers, with class numbers and one-hot labels") {
  const double expected[]{0, 1.0 / 3, 2.0 / 3, 2.0 / 3, 1, 1};
  const Ints label{{3}, {2, 0, 1}}, one_hot{{3, 5}, {0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0}};
  for (const int k : {1, 2, 3, 5, 6}) {
    CAPTURE(k);
    CHECK(share_of(k, five_classes(), label) == doctest::Approx(expected[k - 1]));
    CHECK(share_of(k, five_classes(), one_hot) == doctest::Approx(expected[k - 1]));
  }
}

TEST_CASE("top k: the first of equal predictions counts as the larger one, NaN and unknown classes are wrong") {
  const Floats equal{{1, 3}, {1, 1, 1}};
  CHECK(share_of(1, equal, {{1}, {0}}) == 1);
  CHECK(share_of(1, equal, {{1}, {1}}) == 0);
  CHECK(share_of(2, equal, {{1}, {1}}) == 1);
  CHECK(share_of(3, {{1, 3}, {1, NAN, 1}}, {{1}, {1}}) == 0);
  CHECK(share_of(1, {{1, 3}, {0.1f, NAN, 0.9f}}, {{1}, {2}}) == 0);  // NaN stands before it, as in argmax
  CHECK(share_of(2, {{1, 3}, {0.1f, NAN, 0.9f}}, {{1}, {2}}) == 1);
  CHECK(share_of(3, equal, {{1}, {3}}) == 0);
  CHECK(share_of(3, equal, {{1}, {-1}}) == 0);
}

TEST_CASE("top k: places of a sample, with the classes last or in axis 1") {
  const Ints label{{1, 3}, {2, 0, 1}};
  const Floats scores = five_classes();
  Floats last{{1, 3, 5}, scores.values}, first{{1, 5, 3}, std::vector<float>(15)};
  for (std::size_t i = 0; i < 15; ++i) first.values[i % 5 * 3 + i / 5] = scores.values[i];
  for (const int k : {1, 2, 3}) {
    CHECK(share_of(k, last, label) == share_of(k, scores, {{3}, {2, 0, 1}}));
    CHECK(share_of(k, first, label) == share_of(k, scores, {{3}, {2, 0, 1}}));
  }
}

TEST_CASE("top k: what it refuses") {
  CHECK_THROWS_WITH_AS(nn::TopKCategoricalAccuracy{0}, "TopKCategoricalAccuracy needs a k of 1 or more, got 0.",
                       ValueError);
  nn::Top5CategoricalAccuracy metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  CHECK_THROWS_AS(update(metric, Floats{{1, 2, 1}, {0, 1}}, Ints{{1, 3}, {0, 0, 0}}), ValueError);
  CHECK_THROWS_AS(update(metric, five_classes(), Ints{{2}, {0, 1}}), ValueError);
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}

TEST_CASE("top k: it warns, once, where k is no less than the classes") {
  const auto warned = [](int k) {
    return support::messages(support::logged({}, [k] {
      nn::TopKCategoricalAccuracy metric{k};
      for (int i = 0; i < 3; ++i) update(metric, five_classes(), Ints{{3}, {2, 0, 1}});
    }));
  };
  CHECK(warned(5) ==
        "WARNING ME] TopKCategoricalAccuracy: k is 5, and there are 5 classes: each label is right. Give a "
        "smaller k.\n");
  CHECK(warned(6).find("k is 6") != std::string::npos);
  CHECK(warned(4).empty());
}
