// Root of the mean squared distance between the borders of two regions.
#pragma once
#include <cmath>

#include <tenon/nn/metric/surface/surface_distance.hpp>

namespace tenon::inline TENON_ABI::nn {

/// symmetric  the root of the mean over both directions, not only from the prediction to the truth
/// root       also takes the root for one direction; the default there is the mean of the squares, as in MindSpore
struct RootMeanSquareOptions {
  bool symmetric = false;
  DistanceMetric distance_metric = DistanceMetric::euclidean;
  bool root = false;
};

/// The mean squared distance from the border of a label in the prediction to the nearest point of this border in the
/// truth; with symmetric or root, the square root of it. Infinite if a necessary image does not have the label. Only
/// the last update counts.
///
/// prediction, truth  images of one shape, up to 8 axes, any dtypes: a label at each place
/// source             MindSpore nn.RootMeanSquareDistance
class RootMeanSquareDistance {
 public:
  static constexpr std::string_view name = "root_mean_square_distance";
  explicit RootMeanSquareDistance(RootMeanSquareOptions options = {}) : options_(options) {}

  void clear() { borders_.clear(); }
  /// Throws ValueError for shapes that differ, images without elements, and a label that neither image has.
  void update(const AnyTensor& prediction, const AnyTensor& truth, double label) {
    borders_.update("RootMeanSquareDistance", prediction, truth, label);
  }
  /// Throws RuntimeError without an update.
  double eval() const {
    const auto mean_square = [this](bool back) {
      return detail::mean_distance(borders_.distances("RootMeanSquareDistance", options_.distance_metric, back),
                                   [](double d) { return d * d; });
    };
    if (options_.symmetric) return std::sqrt((mean_square(false) + mean_square(true)) / 2);
    return options_.root ? std::sqrt(mean_square(false)) : mean_square(false);
  }

 private:
  RootMeanSquareOptions options_;
  detail::RegionBorders borders_;
};

}  // namespace tenon::nn
