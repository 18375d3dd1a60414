// Hausdorff distance: the largest distance of one border from another.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include <tenon/nn/metric/surface/surface_distance.hpp>

namespace tenon::inline TENON_ABI::nn {

/// percentile  of the distances, interpolated between the nearest two; by default the largest distance
/// directed    only from the prediction to the truth, instead of the larger of both directions
struct HausdorffOptions {
  DistanceMetric distance_metric = DistanceMetric::euclidean;
  std::optional<double> percentile{};
  bool directed = false;
};

/// The largest distance from a point on the border of a label in the prediction to the nearest such point in the truth,
/// or in the other direction. Infinite if one of the images does not have the label. Only the last update counts.
/// Unlike MindSpore there is no crop option; it would affect only speed.
///
/// prediction, truth  images of one shape, up to 8 axes, any dtypes: a label at each place
/// throws             ValueError for a percentile outside of [0, 100]
/// source             MindSpore nn.HausdorffDistance; percentile 0 is the least distance here, the largest there
class HausdorffDistance {
 public:
  static constexpr std::string_view name = "hausdorff_distance";
  explicit HausdorffDistance(HausdorffOptions options = {}) : options_(options) {
    if (options.percentile && !(*options.percentile >= 0 && *options.percentile <= 100))
      throw_error<ValueError>("HausdorffDistance takes a percentile from 0 to 100, got ", *options.percentile, ".");
  }

  void clear() { borders_.clear(); }
  /// Throws ValueError for shapes that differ, images without elements, and a label that neither image has.
  void update(const AnyTensor& prediction, const AnyTensor& truth, double label) {
    borders_.update("HausdorffDistance", prediction, truth, label);
  }
  /// Throws RuntimeError without an update.
  double eval() const {
    const double there = farthest(false);
    return options_.directed ? there : std::max(there, farthest(true));
  }

 private:
  double farthest(bool back) const {
    std::vector<double> d = borders_.distances("HausdorffDistance", options_.distance_metric, back);
    if (d.empty() || std::isinf(d[0])) return std::numeric_limits<double>::infinity();  // a region is missing
    std::sort(d.begin(), d.end());
    const double place = options_.percentile.value_or(100) / 100 * static_cast<double>(d.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(below);
    return part == 0 ? d[below] : d[below] + part * (d[below + 1] - d[below]);
  }

  HausdorffOptions options_;
  detail::RegionBorders borders_;
};

}  // namespace tenon::nn
