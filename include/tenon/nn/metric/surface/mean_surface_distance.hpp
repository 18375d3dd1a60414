// Mean distance between the borders of two regions.
#pragma once
#include <tenon/nn/metric/surface/surface_distance.hpp>

namespace tenon::inline TENON_ABI::nn {

/// symmetric  the mean of both directions, instead of only from the prediction to the truth
struct MeanSurfaceOptions {
  bool symmetric = false;
  DistanceMetric distance_metric = DistanceMetric::euclidean;
};

/// The mean distance from the border of a label in the prediction to the nearest point of this border in the truth.
/// Infinite if a necessary image does not have the label. Only the last update counts.
///
/// prediction, truth  images of one shape, up to 8 axes, any dtypes: a label at each place
/// source             MindSpore nn.MeanSurfaceDistance
class MeanSurfaceDistance {
 public:
  static constexpr std::string_view name = "mean_surface_distance";
  explicit MeanSurfaceDistance(MeanSurfaceOptions options = {}) : options_(options) {}

  void clear() { borders_.clear(); }
  /// Throws ValueError for shapes that differ, images without elements, and a label that neither image has.
  void update(const AnyTensor& prediction, const AnyTensor& truth, double label) {
    borders_.update("MeanSurfaceDistance", prediction, truth, label);
  }
  /// Throws RuntimeError without an update.
  double eval() const {
    const auto mean = [this](bool back) {
      return detail::mean_distance(borders_.distances("MeanSurfaceDistance", options_.distance_metric, back),
                                   [](double d) { return d; });
    };
    return options_.symmetric ? (mean(false) + mean(true)) / 2 : mean(false);
  }

 private:
  MeanSurfaceOptions options_;
  detail::RegionBorders borders_;
};

}  // namespace tenon::nn
