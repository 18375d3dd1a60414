// Mean squared error.
#include <tenon/nn/metric/mse.hpp>

#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("MSE: MindSpore's numbers; per element is the mean") {
  nn::MSE mse;
  CHECK_THROWS_AS(mse.eval(), RuntimeError);
  update(mse, Floats{{4}, {0.1f, 0.2f, 0.6f, 0.9f}}, Floats{{4}, {0.1f, 0.25f, 0.5f, 0.9f}});
  CHECK(mse.eval() == doctest::Approx(0.003125));
  const Floats prediction{{2, 2}, {1, 2, 3, 4}}, ones{{2, 2}, {1, 1, 1, 1}};
  mse.clear();
  update(mse, prediction, ones);
  CHECK(mse.eval() == 7);
  nn::MSE mean{nn::Division::per_element};
  update(mean, prediction, ones);
  CHECK(mean.eval() == 3.5);
}
