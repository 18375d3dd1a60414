// Mean absolute error.
#include <cmath>

#include <tenon/nn/metric/mae.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("MAE: MindSpore's numbers; per element is the mean") {
  nn::MAE mae;
  CHECK_THROWS_AS(mae.eval(), RuntimeError);
  update(mae, Floats{{4}, {0.1f, 0.2f, 0.6f, 0.9f}}, Floats{{4}, {0.1f, 0.25f, 0.7f, 0.9f}});
  CHECK(mae.eval() == doctest::Approx(0.0375));
  const Floats prediction{{2, 2}, {1, 2, 3, 4}}, ones{{2, 2}, {1, 1, 1, 1}};
  mae.clear();
  update(mae, prediction, ones);
  CHECK(mae.eval() == 3);
  nn::MAE mean{nn::Division::per_element};
  update(mean, prediction, ones);
  CHECK(mean.eval() == 1.5);
  update(mean, ones, ones);
  CHECK(mean.eval() == 0.75);
  update(mean, Floats{{1}, {NAN}}, Floats{{1}, {0}});
  CHECK(std::isnan(mean.eval()));
}

TEST_CASE("MAE: prediction and target have one shape, with samples") {
  nn::MAE mae;
  CHECK_THROWS_WITH_AS(update(mae, Floats{{2}, {1, 2}}, Floats{{2, 1}, {1, 2}}),
                       "MAE needs a prediction and a target [n,...] of one shape, got [2] and [2,1].", ValueError);
  CHECK_THROWS_AS(update(mae, Floats{{}, {1}}, Floats{{}, {1}}), ValueError);
  update(mae, Floats{{0, 3}, {}}, Floats{{0, 3}, {}});
  CHECK_THROWS_AS(mae.eval(), RuntimeError);
}
