// Precision of classes and of sets of labels.
#include <cmath>

#include <tenon/nn/metric/precision.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("precision: MindSpore's numbers, in one update or several") {
  nn::Precision precision;
  CHECK_THROWS_AS(precision.eval(), RuntimeError);
  CHECK_THROWS_AS(precision.per_class(), RuntimeError);
  update(precision, two_classes(), two_labels());
  check_near(precision.per_class(), {0.5, 1});
  CHECK(precision.eval() == doctest::Approx(0.75));
  precision.clear();
  update(precision, three_classes(), three_labels());
  check_near(precision.per_class(), {0.5, 1, 0});
  update(precision, three_classes(), three_labels());
  check_near(precision.per_class(), {0.5, 1, 0});
}

TEST_CASE("precision: an empty batch counts nothing, a wrong one nothing either") {
  nn::Precision precision;
  update(precision, Floats{{0, 2}, {}}, Ints{{0}, {}});
  CHECK_THROWS_AS(precision.eval(), RuntimeError);
  CHECK_THROWS_WITH_AS(update(precision, two_classes(), Ints{{3}, {1, 2, 0}}),
                       "Precision got the label 2, the prediction has the classes 0 to 1.", ValueError);
  CHECK_THROWS_AS(update(precision, two_classes(), Ints{{3}, {1, -1, 0}}), ValueError);
  CHECK_THROWS_AS(precision.eval(), RuntimeError);
  update(precision, two_classes(), two_labels());
  CHECK_THROWS_AS(update(precision, three_classes(), three_labels()), ValueError);
  CHECK(precision.eval() == doctest::Approx(0.75));
}

TEST_CASE("precision: of sets of labels a value per sample, or per class") {
  nn::MultilabelPrecision samples;
  update(samples, label_sets(), true_sets());
  check_near(samples.values(), {1, 0.5, 1});
  CHECK(samples.eval() == doctest::Approx(2.5 / 3));
  update(samples, label_sets(), true_sets());
  check_near(samples.values(), {1, 0.5, 1, 1, 0.5, 1});
  nn::MultilabelPrecision classes{nn::MultilabelValues::per_class};
  update(classes, label_sets(), true_sets());
  check_near(classes.values(), {1, 2.0 / 3});
  CHECK_THROWS_WITH_AS(update(classes, Ints{{1, 2}, {0, 2}}, Ints{{1, 2}, {0, 1}}),
                       "MultilabelPrecision needs elements 0 or 1, got 2 in the prediction at place 1: compare numbers "
                       "with a threshold first.",
                       ValueError);
  CHECK_THROWS_AS(update(classes, Floats{{1, 2}, {0, NAN}}, Ints{{1, 2}, {0, 1}}), ValueError);
  check_near(classes.values(), {1, 2.0 / 3});
}
