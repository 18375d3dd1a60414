// F-measures.
#include <cmath>

#include <tenon/nn/metric/fbeta.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("fbeta: MindSpore's numbers") {
  nn::F1 f1;
  CHECK_THROWS_AS(f1.eval(), RuntimeError);
  update(f1, two_classes(), two_labels());
  check_near(f1.per_class(), {2.0 / 3, 2.0 / 3});
  nn::Fbeta f2{2};
  update(f2, two_classes(), two_labels());
  check_near(f2.per_class(), {0.83333333, 0.55555556});
  f1.clear();
  update(f1, three_classes(), three_labels());
  check_near(f1.per_class(), {2.0 / 3, 2.0 / 3, 0});
  CHECK(f1.eval() == doctest::Approx(4.0 / 9));
}

TEST_CASE("fbeta: the weight is above 0") {
  CHECK_THROWS_WITH_AS(nn::Fbeta{0}, "Fbeta needs a beta above 0, got 0.", ValueError);
  CHECK_THROWS_AS(nn::Fbeta{-1}, ValueError);
  CHECK_THROWS_AS(nn::Fbeta{NAN}, ValueError);
}
