// Dice coefficient.
#include <cmath>

#include <tenon/nn/metric/dice.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("dice: MindSpore's number, which divides by samples once more; per sample is the mean") {
  const Floats prediction{{3, 2}, {0.2f, 0.5f, 0.3f, 0.1f, 0.9f, 0.6f}};
  const Ints label{{3, 2}, {0, 1, 1, 0, 0, 1}};
  nn::Dice dice, samples{{.smooth = 0, .per_sample = true}};
  CHECK_THROWS_AS(dice.eval(), RuntimeError);
  update(dice, prediction, label);
  CHECK(dice.eval() == doctest::Approx(0.2046779137));
  update(samples, prediction, label);
  CHECK(samples.eval() == doctest::Approx((2 * 0.5 / 1.29 + 2 * 0.3 / 1.1 + 2 * 0.6 / 2.17) / 3));
  update(samples, label, label);
  CHECK(samples.eval() > 0.5);
}

TEST_CASE("dice: empty regions, and what it refuses") {
  nn::Dice smooth, exact{{.smooth = 0}};
  const Ints nothing{{1, 2}, {0, 0}};
  update(smooth, nothing, nothing);
  update(exact, nothing, nothing);
  CHECK(smooth.eval() == 0);
  CHECK(exact.eval() == 0);
  CHECK_THROWS_AS(nn::Dice{{.smooth = -1}}, ValueError);
  CHECK_THROWS_AS(nn::Dice{{.smooth = NAN}}, ValueError);
  CHECK_THROWS_AS(update(smooth, nothing, Ints{{2, 1}, {0, 0}}), ValueError);
  CHECK_THROWS_AS(update(smooth, Ints{{}, {1}}, Ints{{}, {1}}), ValueError);
}
