// The distances between the borders of two regions, from which several metrics are computed.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The length of a step of (a, b): sqrt(a² + b²), max(|a|, |b|), |a| + |b|; with more axes likewise.
enum class DistanceMetric { euclidean, chessboard, taxicab };

namespace detail {

/// The places at the border of a region: those with a neighbour along an axis that is outside of it, or of the image.
class RegionBorder {
 public:
  using Place = std::array<std::int64_t, AnyTensor::max_axes>;

  RegionBorder() = default;
  RegionBorder(const AnyTensor& image, double label) : axes_(image.rank) {
    const std::int64_t count = image.count();
    Place at{};
    for (std::int64_t i = 0; i < count; ++i, step(at, image))
      if (element(image, i) == label && at_border(image, label, i, at)) places_.push_back(at);
  }

  bool empty() const { return places_.empty(); }
  /// From each place of this border to the nearest one of the other, infinite if that is empty. Takes time in
  /// proportion to the product of both lengths.
  std::vector<double> distances_to(const RegionBorder& other, DistanceMetric metric) const {
    std::vector<double> result;
    for (const Place& from : places_) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const Place& to : other.places_) nearest = std::min(nearest, distance(from, to, metric));
      result.push_back(metric == DistanceMetric::euclidean ? std::sqrt(nearest) : nearest);
    }
    return result;
  }

 private:
  static void step(Place& at, const AnyTensor& image) {
    for (auto axis = static_cast<std::size_t>(image.rank); axis-- > 0; at[axis] = 0)
      if (++at[axis] < image.extent[axis]) return;
  }
  static bool at_border(const AnyTensor& image, double label, std::int64_t i, const Place& at) {
    std::int64_t stride = 1;
    for (auto axis = static_cast<std::size_t>(image.rank); axis-- > 0; stride *= image.extent[axis])
      if (at[axis] == 0 || at[axis] + 1 == image.extent[axis] || element(image, i - stride) != label ||
          element(image, i + stride) != label)
        return true;
    return false;
  }
  // The square of a euclidean distance: its root is taken of the least one alone.
  double distance(const Place& a, const Place& b, DistanceMetric metric) const {
    double sum = 0, largest = 0, squares = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes_); ++axis) {
      const double d = std::fabs(static_cast<double>(a[axis] - b[axis]));
      sum += d;
      largest = std::max(largest, d);
      squares += d * d;
    }
    return metric == DistanceMetric::euclidean ? squares : metric == DistanceMetric::chessboard ? largest : sum;
  }

  int axes_ = 0;
  std::vector<Place> places_;
};

/// The borders of a label in a prediction and in the truth, of the last update.
class RegionBorders {
 public:
  void clear() { *this = {}; }
  /// Throws ValueError for shapes that differ, images without elements, and a label that neither image has.
  void update(std::string_view metric, const AnyTensor& prediction, const AnyTensor& truth, double label) {
    check_same_shape(metric, prediction, truth);
    if (prediction.rank == 0 || prediction.count() == 0)
      throw_error<ValueError>(metric, " needs images with elements, got ", shape_text(prediction.shape()), ".");
    RegionBorder one(prediction, label), other(truth, label);
    if (one.empty() && other.empty())
      throw_error<ValueError>(metric, " was asked for the label ", label, ", which neither image has.");
    prediction_ = std::move(one);
    truth_ = std::move(other);
    updated_ = true;
  }
  /// From the prediction's border to that of the truth, or back. Throws RuntimeError without an update.
  std::vector<double> distances(std::string_view metric, DistanceMetric steps, bool back = false) const {
    if (!updated_) throw_error<RuntimeError>(metric, " cannot be computed: update() was not called.");
    return back ? truth_.distances_to(prediction_, steps) : prediction_.distances_to(truth_, steps);
  }

 private:
  RegionBorder prediction_, truth_;
  bool updated_ = false;
};

/// The mean of f(distance), infinite if there is none: the region is missing.
template <class F>
double mean_distance(const std::vector<double>& distances, F f) {
  if (distances.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const double d : distances) sum += f(d);
  return sum / static_cast<double>(distances.size());
}

}  // namespace detail
}  // namespace tenon::nn
