// Area under a curve.
#include <cmath>

#include <tenon/nn/metric/auc.hpp>
#include <tenon/nn/metric/roc.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("auc: trapezoids, in both directions") {
  const std::vector<double> x{0, 1, 3}, y{0, 1, 1}, back_x{3, 1, 0}, back_y{1, 1, 0}, mixed_x{1, 3, 0},
      mixed_y{1, 1, 0};
  CHECK(nn::auc(x, y) == 2.5);
  CHECK(nn::auc(back_x, back_y) == 2.5);
  CHECK(nn::auc(mixed_x, mixed_y, true) == 2.5);
  CHECK_THROWS_WITH_AS(nn::auc(mixed_x, mixed_y),
                       "auc needs x that only grows or only shrinks: sort the points, or say reorder = true.",
                       ValueError);
}

TEST_CASE("auc: of a ROC curve it is the share of pairs in the right order") {
  const Floats scores{{6}, {0.1f, 0.4f, 0.35f, 0.8f, 0.4f, 0.9f}};
  const Ints labels{{6}, {0, 0, 1, 1, 1, 0}};
  nn::ROC roc;
  update(roc, scores, labels);
  double pairs = 0;
  for (std::size_t p = 0; p < 6; ++p)
    for (std::size_t n = 0; n < 6; ++n)
      if (labels.values[p] == 1 && labels.values[n] == 0)
        pairs += scores.values[p] > scores.values[n] ? 1 : scores.values[p] == scores.values[n] ? 0.5 : 0;
  CHECK(nn::auc(roc.eval()[0].fpr, roc.eval()[0].tpr) == doctest::Approx(pairs / 9));
}

TEST_CASE("auc: two points at least, as many x as y, and no NaN") {
  const std::vector<double> one{1}, two{1, 2}, three{1, 2, 3}, nan{NAN, 1};
  CHECK_THROWS_AS(nn::auc(one, one), ValueError);
  CHECK_THROWS_AS(nn::auc(two, three), ValueError);
  CHECK_THROWS_AS(nn::auc(nan, two), ValueError);
}
