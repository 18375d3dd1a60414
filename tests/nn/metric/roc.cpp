// Receiver operating characteristic.
#include <cmath>

#include <tenon/nn/metric/roc.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("ROC: MindSpore's numbers") {
  nn::ROC roc{{.pos_label = 2}};
  CHECK_THROWS_AS(roc.eval(), RuntimeError);
  update(roc, Ints{{4}, {3, 1, 4, 2}}, Ints{{4}, {0, 1, 2, 3}});
  REQUIRE(roc.eval().size() == 1);
  const nn::RocCurve curve = roc.eval()[0];
  check_near(curve.fpr, {0, 0, 1.0 / 3, 2.0 / 3, 1});
  check_near(curve.tpr, {0, 1, 1, 1, 1});
  check_near(curve.thresholds, {5, 4, 3, 2, 1});
}

TEST_CASE("ROC: each class against the others is what its scores alone give") {
  const Floats scores{{4, 3}, {0.1f, 0.7f, 0.2f, 0.6f, 0.3f, 0.1f, 0.2f, 0.2f, 0.6f, 0.5f, 0.4f, 0.1f}};
  const Ints labels{{4}, {1, 0, 2, 2}};
  nn::ROC all;
  update(all, scores, labels);
  REQUIRE(all.eval().size() == 3);
  for (int c = 0; c < 3; ++c) {
    Floats own{{4}, {}};
    for (std::size_t i = 0; i < 4; ++i) own.values.push_back(scores.values[3 * i + std::size_t(c)]);
    nn::ROC one{{.pos_label = c}};
    update(one, own, labels);
    check_near(all.eval()[std::size_t(c)].fpr, one.eval()[0].fpr, 0);
    check_near(all.eval()[std::size_t(c)].tpr, one.eval()[0].tpr, 0);
    check_near(all.eval()[std::size_t(c)].thresholds, one.eval()[0].thresholds, 0);
  }
}

TEST_CASE("ROC: the classes are last or in axis 1, whatever places there are") {
  nn::ROC flat, last, first;
  update(flat, Floats{{4, 2}, {0.1f, 0.9f, 0.8f, 0.3f, 0.4f, 0.5f, 0.7f, 0.2f}}, Ints{{4}, {1, 0, 0, 1}});
  update(last, Floats{{1, 4, 2}, {0.1f, 0.9f, 0.8f, 0.3f, 0.4f, 0.5f, 0.7f, 0.2f}}, Ints{{1, 4}, {1, 0, 0, 1}});
  update(first, Floats{{1, 2, 4}, {0.1f, 0.8f, 0.4f, 0.7f, 0.9f, 0.3f, 0.5f, 0.2f}}, Ints{{1, 4}, {1, 0, 0, 1}});
  for (const nn::ROC* roc : {&last, &first})
    for (std::size_t c = 0; c < 2; ++c) {
      check_near(roc->eval()[c].fpr, flat.eval()[c].fpr, 0);
      check_near(roc->eval()[c].thresholds, flat.eval()[c].thresholds, 0);
    }
}

TEST_CASE("ROC: an update replaces the one before, or is added") {
  nn::ROC last, all{{.accumulate = true}};
  for (nn::ROC* roc : {&last, &all}) {
    update(*roc, Floats{{2}, {0.9f, 0.1f}}, Ints{{2}, {0, 1}});
    update(*roc, Floats{{2}, {0.8f, 0.2f}}, Ints{{2}, {1, 0}});
  }
  check_near(last.eval()[0].thresholds, {1.8, 0.8, 0.2}, 1e-6);
  check_near(all.eval()[0].thresholds, {1.9, 0.9, 0.8, 0.2, 0.1}, 1e-6);
  check_near(all.eval()[0].tpr, {0, 0, 0.5, 0.5, 1});
}

TEST_CASE("ROC: what it refuses") {
  nn::ROC roc;
  CHECK_THROWS_WITH_AS(update(roc, Floats{{2}, {0, NAN}}, Ints{{2}, {0, 1}}),
                       "ROC got a prediction that is NaN, at place 1.", ValueError);
  CHECK_THROWS_AS(update(roc, Floats{{2}, {0, 1}}, Ints{{3}, {0, 1, 0}}), ValueError);
  CHECK_THROWS_AS(update(roc, Floats{{2, 2}, {0, 1, 0, 1}}, Ints{{3}, {0, 1, 0}}), ValueError);
  nn::ROC positive{{.pos_label = 1}};
  CHECK_THROWS_AS(update(positive, Floats{{2, 2}, {0, 1, 0, 1}}, Ints{{2}, {0, 1}}), ValueError);
  update(roc, Floats{{2}, {0, 1}}, Ints{{2}, {1, 1}});
  CHECK_THROWS_WITH_AS(roc.eval(), "ROC has no negative sample for the label 1: a rate would divide by 0.", ValueError);
}
