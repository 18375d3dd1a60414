// Hausdorff distance, and how borders are found.
#include <cmath>

#include <tenon/nn/metric/surface/hausdorff_distance.hpp>

#include "../support.hpp"

using namespace tenon;
using namespace batches;

namespace {
double distance(nn::HausdorffOptions options, Ints prediction, Ints truth, double label) {
  nn::HausdorffDistance metric{options};
  metric.update(prediction.view(), truth.view(), label);
  return metric.eval();
}
}  // namespace

TEST_CASE("hausdorff distance: MindSpore's numbers") {
  CHECK(distance({}, image(), true_image(), 0) == doctest::Approx(1.41421356));
  CHECK(distance({.distance_metric = nn::DistanceMetric::chessboard}, image(), true_image(), 0) == 1);
  CHECK(distance({.distance_metric = nn::DistanceMetric::taxicab}, image(), true_image(), 0) == 2);
  CHECK(distance({.percentile = 95}, image(), true_image(), 0) == doctest::Approx(1.37279));
}

TEST_CASE("hausdorff distance: the inside of a region does not count, in any number of axes") {
  const Ints full{{3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, hole{{3, 3}, {1, 1, 1, 1, 0, 1, 1, 1, 1}};
  CHECK(distance({}, full, hole, 1) == 0);
  const Ints line{{5}, {1, 0, 0, 0, 1}}, start{{5}, {1, 0, 0, 0, 0}};
  CHECK(distance({}, line, start, 1) == 4);
  CHECK(distance({.directed = true}, start, line, 1) == 0);
  CHECK(distance({.directed = true}, line, start, 1) == 4);
  CHECK(distance({.percentile = 0}, line, start, 1) == 0);
  Ints far{{2, 2, 2}, {1, 0, 0, 0, 0, 0, 0, 0}}, corner{{2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 1}};
  CHECK(distance({}, far, corner, 1) == doctest::Approx(std::sqrt(3)));
}

TEST_CASE("hausdorff distance: a region that is missing in one image is infinitely far") {
  const Ints some{{2}, {1, 0}}, none{{2}, {0, 0}};
  for (const bool directed : {false, true}) {
    CHECK(std::isinf(distance({.directed = directed}, some, none, 1)));
    CHECK(std::isinf(distance({.directed = directed}, none, some, 1)));
    CHECK(std::isinf(distance({.percentile = 50, .directed = directed}, some, none, 1)));
  }
  CHECK_THROWS_WITH_AS(distance({}, none, none, 1),
                       "HausdorffDistance was asked for the label 1, which neither image has.", ValueError);
}

TEST_CASE("hausdorff distance: what it refuses") {
  nn::HausdorffDistance metric;
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
  CHECK_THROWS_AS(nn::HausdorffDistance{{.percentile = 101}}, ValueError);
  CHECK_THROWS_AS(nn::HausdorffDistance{{.percentile = NAN}}, ValueError);
  CHECK_THROWS_AS(distance({}, Ints{{2}, {1, 0}}, Ints{{2, 1}, {1, 0}}, 1), ValueError);
  CHECK_THROWS_AS(distance({}, Ints{{0}, {}}, Ints{{0}, {}}, 1), ValueError);
}
