// Mean distance of borders.
#include <cmath>

#include <tenon/nn/metric/surface/mean_surface_distance.hpp>

#include "../support.hpp"

using namespace tenon;
using namespace batches;

namespace {
double distance(nn::MeanSurfaceOptions options, Ints prediction, Ints truth, double label) {
  nn::MeanSurfaceDistance metric{options};
  metric.update(prediction.view(), truth.view(), label);
  return metric.eval();
}
}  // namespace

TEST_CASE("mean surface distance: MindSpore's numbers") {
  CHECK(distance({}, image(), true_image(), 0) == doctest::Approx(0.8047378541));
  CHECK(distance({.symmetric = true}, image(), true_image(), 0) == doctest::Approx(0.73570226));
}

TEST_CASE("mean surface distance: a missing region, and no update") {
  CHECK(std::isinf(distance({}, Ints{{2}, {1, 0}}, Ints{{2}, {0, 0}}, 1)));
  CHECK(std::isinf(distance({}, Ints{{2}, {0, 0}}, Ints{{2}, {1, 0}}, 1)));
  nn::MeanSurfaceDistance metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  Ints one = image();
  metric.update(one.view(), one.view(), 0);
  CHECK(metric.eval() == 0);
  metric.clear();
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}
