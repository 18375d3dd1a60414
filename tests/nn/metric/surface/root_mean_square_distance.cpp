// Root of the mean squared distance of borders.
#include <cmath>

#include <tenon/nn/metric/surface/root_mean_square_distance.hpp>

#include "../support.hpp"

using namespace tenon;
using namespace batches;

namespace {
double distance(nn::RootMeanSquareOptions options, Ints prediction, Ints truth, double label) {
  nn::RootMeanSquareDistance metric{options};
  metric.update(prediction.view(), truth.view(), label);
  return metric.eval();
}
}  // namespace

TEST_CASE("root mean square distance: MindSpore's numbers") {
  CHECK(distance({}, image(), true_image(), 0) == doctest::Approx(1));
  CHECK(distance({.symmetric = true}, image(), true_image(), 0) == doctest::Approx(0.912870929));
}

TEST_CASE("root mean square distance: in one direction without a root, unless it is asked for") {
  const Ints line{{5}, {1, 0, 0, 0, 1}}, start{{5}, {1, 0, 0, 0, 0}};
  CHECK(distance({}, line, start, 1) == 8);
  CHECK(distance({.root = true}, line, start, 1) == doctest::Approx(std::sqrt(8)));
  CHECK(distance({.symmetric = true}, line, start, 1) == doctest::Approx(2));
  nn::RootMeanSquareDistance metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}
