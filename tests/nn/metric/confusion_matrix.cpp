// The confusion matrix.
#include <cmath>

#include <tenon/nn/metric/confusion_matrix.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("confusion matrix: MindSpore's numbers, from classes and from scores") {
  nn::ConfusionMatrix two{2}, three{3}, shares{3, nn::ConfusionNormalization::target};
  CHECK_THROWS_AS(two.eval(), RuntimeError);
  update(two, Ints{{4}, {1, 0, 1, 0}}, Ints{{4}, {1, 0, 0, 1}});
  check_near(two.eval(), {1, 1, 1, 1});
  update(three, three_classes(), three_labels());
  check_near(three.eval(), {1, 0, 0, 0, 1, 1, 1, 0, 0});
  update(shares, three_classes(), three_labels());
  check_near(shares.eval(), {1, 0, 0, 0, 0.5, 0.5, 1, 0, 0});
  two.clear();
  CHECK_THROWS_AS(two.eval(), RuntimeError);
}

TEST_CASE("confusion matrix: a threshold, and places behind the axis of the classes") {
  nn::ConfusionMatrix two{2};
  update(two, Floats{{4}, {0.5f, 0.49f, 0, 1}}, Ints{{4}, {1, 1, 0, 0}});
  check_near(two.eval(), {1, 1, 1, 1});
  two.clear();
  update(two, Floats{{1, 2, 3}, {0.2f, 0.3f, 0.9f, 0.5f, 0.1f, 0.6f}}, Ints{{1, 3}, {1, 0, 1}});
  check_near(two.eval(), {1, 0, 1, 1});
}

TEST_CASE("confusion matrix: a class without labels divides by nothing, and has 0") {
  for (const auto by :
       {nn::ConfusionNormalization::target, nn::ConfusionNormalization::prediction, nn::ConfusionNormalization::all}) {
    nn::ConfusionMatrix matrix{2, by};
    update(matrix, Ints{{2}, {1, 1}}, Ints{{2}, {1, 1}});
    check_near(matrix.eval(), {0, 0, 0, 1});
  }
}

TEST_CASE("confusion matrix: what it refuses counts nothing") {
  CHECK_THROWS_AS(nn::ConfusionMatrix{1}, ValueError);
  nn::ConfusionMatrix matrix{2};
  CHECK_THROWS_WITH_AS(update(matrix, Ints{{2}, {1, 2}}, Ints{{2}, {0, 1}}),
                       "ConfusionMatrix got the prediction 2 at place 1, the classes are 0 to 1.", ValueError);
  CHECK_THROWS_WITH_AS(update(matrix, Floats{{2}, {1, NAN}}, Ints{{2}, {0, 0}}),
                       "ConfusionMatrix got the prediction nan at place 1, the classes are 0 to 1.", ValueError);
  CHECK_THROWS_AS(update(matrix, Ints{{2}, {1, 1}}, Floats{{2}, {0, 0.5f}}), ValueError);
  CHECK_THROWS_AS(update(matrix, Ints{{2}, {1, 1}}, Floats{{2}, {0, NAN}}), ValueError);
  CHECK_THROWS_AS(update(matrix, Ints{{2}, {1, 1}}, Ints{{3}, {0, 0, 0}}), ValueError);
  CHECK_THROWS_WITH_AS(update(matrix, three_classes(), three_labels()),
                       "ConfusionMatrix of 2 classes got predictions [4, 3] and labels [4]: it takes [n,...,2] or "
                       "[n,2,...] and [n,...], or one shape for both.",
                       ValueError);
  CHECK_THROWS_AS(matrix.eval(), RuntimeError);
}

TEST_CASE("confusion matrix: the classes are in the last axis, as in the losses, or in axis 1") {
  const Ints labels{{1, 2}, {2, 0}};
  nn::ConfusionMatrix last{3}, first{3};
  update(last, Floats{{1, 2, 3}, {0, 1, 2, 5, 3, 4}}, labels);
  update(first, Floats{{1, 3, 2}, {0, 5, 1, 3, 2, 4}}, labels);
  check_near(last.eval(), {1, 0, 0, 0, 0, 0, 0, 0, 1});
  check_near(first.eval(), {1, 0, 0, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("confusion matrix: of scores a NaN is the largest, as in argmax") {
  nn::ConfusionMatrix matrix{3};
  update(matrix, Floats{{2, 3}, {0.1f, NAN, 0.9f, NAN, 0.9f, NAN}}, Ints{{2}, {2, 0}});
  check_near(matrix.eval(), {1, 0, 0, 0, 0, 0, 0, 1, 0});
}
