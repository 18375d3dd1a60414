// Recall of classes and of sets of labels.
#include <tenon/nn/metric/recall.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("recall: MindSpore's numbers; a class without labels has 0") {
  nn::Recall recall;
  CHECK_THROWS_AS(recall.eval(), RuntimeError);
  update(recall, two_classes(), two_labels());
  check_near(recall.per_class(), {1, 0.5});
  CHECK(recall.eval() == doctest::Approx(0.75));
  recall.clear();
  update(recall, three_classes(), three_labels());
  check_near(recall.per_class(), {1, 0.5, 0});
  recall.clear();
  update(recall, two_classes(), Ints{{3}, {1, 1, 1}});
  check_near(recall.per_class(), {0, 1.0 / 3});
}

TEST_CASE("recall: places behind the axis of the classes are samples") {
  nn::Recall places, samples;
  update(places, Floats{{1, 2, 3}, {0.2f, 0.3f, 0.9f, 0.5f, 0.1f, 0.6f}}, Ints{{1, 3}, {1, 0, 1}});
  update(samples, two_classes(), two_labels());
  check_near(places.per_class(), samples.per_class(), 0);
}

TEST_CASE("recall: of sets of labels a value per sample, or per class") {
  nn::MultilabelRecall samples, classes{nn::MultilabelValues::per_class};
  update(samples, label_sets(), true_sets());
  check_near(samples.values(), {1, 1, 1});
  update(classes, Ints{{2, 2}, {1, 0, 1, 1}}, Ints{{2, 2}, {1, 1, 1, 1}});
  check_near(classes.values(), {1, 0.5});
  CHECK_THROWS_WITH_AS(update(samples, label_sets(), Ints{{3}, {0, 1, 0}}),
                       "MultilabelRecall needs predictions and labels [n,classes] of one shape, 1 for each class of a "
                       "sample and 0 for the others, got [3,2] and [3].",
                       ValueError);
}
