// How one axis of an image is resampled: which source pixels make each pixel of the result, with which weights.
#pragma once
#include <cstddef>
#include <vector>

#include <tenon/core/error.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <cmath>
#endif

namespace tenon::inline TENON_ABI::vision {

/// Kinds of interpolation, with MindSpore's names and numbers.
enum class Inter { nearest = 0, antialias = 1, linear = 2, bilinear = 2, cubic = 3, bicubic = 3, area = 4 };

namespace detail {

/// Pixel i of the result is the sum over t < taps of weight[i * taps + t] times source pixel start[i] + t.
struct AxisWeights {
  int taps = 0;
  std::vector<int> start;
  std::vector<float> weight;
};

/// The part of the source axis that becomes the result, in pixels; only pixels that it touches are used.
struct Interval {
  double begin = 0, length = 0;
};

/// Weights for `count` pixels out of an interval of an axis of `size` pixels. `interpolated`: of Inter::area if the
/// other axis is enlarged (OpenCV then interpolates along both).
AxisWeights axis_weights(Inter inter, bool antialias, Interval from, int size, int count, bool interpolated);

#if TENON_DEFINES
/// One pixel of the result: weights of source pixels in any order. Those outside are moved to the border.
class TapList {
 public:
  TapList(int first, int last, int taps) : first_(first), last_(last), weight_(std::size_t(taps)) {}
  void begin(int start) {
    start_ = std::clamp(start, first_, std::max(first_, last_ + 1 - int(weight_.size())));
    std::fill(weight_.begin(), weight_.end(), 0.0);
  }
  void add(int pixel, double weight) {
    const int tap = std::clamp(pixel, first_, last_) - start_;
    weight_[std::size_t(std::clamp(tap, 0, int(weight_.size()) - 1))] += weight;
  }
  /// Makes the sum of the weights 1 and appends them.
  void end(AxisWeights& weights) {
    double sum = 0;
    for (const double weight : weight_) sum += weight;
    weights.start.push_back(start_);
    for (const double weight : weight_) weights.weight.push_back(float(sum != 0 ? weight / sum : weight));
  }

 private:
  int first_, last_, start_ = 0;
  std::vector<double> weight_;
};

/// PIL's filters: linear is the triangle, cubic has a = -0.5, and what PIL called ANTIALIAS is Lanczos with 3 lobes.
TENON_INLINE double filter_support(Inter inter) {
  return inter == Inter::linear ? 1 : inter == Inter::cubic ? 2 : inter == Inter::area ? 0.5 : 3;
}
TENON_INLINE double filter_value(Inter inter, double x) {
  constexpr double pi = 3.14159265358979323846;
  const auto sinc = [](double t) { return t == 0 ? 1 : std::sin(t * pi) / (t * pi); };
  const double t = std::abs(x);
  switch (inter) {
    case Inter::linear: return t < 1 ? 1 - t : 0;
    case Inter::cubic: {
      constexpr double a = -0.5;
      if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
      return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
    }
    case Inter::area: return x > -0.5 && x <= 0.5 ? 1 : 0;
    default: return t < 3 ? sinc(t) * sinc(t / 3) : 0;
  }
}

struct AxisScale {
  double begin, scale;
  int first, last;  // source pixels that may be used
};

TENON_INLINE AxisWeights antialiased(Inter inter, const AxisScale& axis, int count) {
  const double stretch = std::max(axis.scale, 1.0), support = filter_support(inter) * stretch;
  AxisWeights weights;
  weights.taps = std::min(int(std::ceil(2 * support)), axis.last + 1 - axis.first);
  TapList list(axis.first, axis.last, weights.taps);
  for (int i = 0; i < count; ++i) {
    const double center = axis.begin + (i + 0.5) * axis.scale;
    const int low = std::max(int(center - support + 0.5), axis.first);
    const int high = std::min(int(center + support + 0.5), axis.last + 1);
    list.begin(low);
    for (int pixel = low; pixel < high; ++pixel) list.add(pixel, filter_value(inter, (pixel - center + 0.5) / stretch));
    list.end(weights);
  }
  return weights;
}

/// The mean over what a pixel of the result covers.
TENON_INLINE AxisWeights area_weights(const AxisScale& axis, int count) {
  AxisWeights weights;
  weights.taps = std::min(int(std::ceil(axis.scale)) + 1, axis.last + 1 - axis.first);
  TapList list(axis.first, axis.last, weights.taps);
  for (int i = 0; i < count; ++i) {
    constexpr double least = 1e-3;  // as OpenCV: what is less is an error of rounding
    const double low = axis.begin + i * axis.scale, high = low + axis.scale;
    const int whole = int(std::ceil(low - least)), end = int(std::floor(high + least));
    list.begin(int(std::floor(low + least)));
    if (whole - low > least) list.add(whole - 1, std::min(whole - low, axis.scale));
    for (int pixel = whole; pixel < end; ++pixel) list.add(pixel, 1);
    if (high - end > least && end >= whole) list.add(end, high - end);
    list.end(weights);
  }
  return weights;
}

/// Between the nearest pixels, as OpenCV: cubic has a = -0.75. Area enlarges in steps with a ramp between them.
TENON_INLINE AxisWeights interpolating(Inter inter, const AxisScale& axis, int count) {
  AxisWeights weights;
  weights.taps = std::min(inter == Inter::nearest ? 1 : inter == Inter::cubic ? 4 : 2, axis.last + 1 - axis.first);
  TapList list(axis.first, axis.last, weights.taps);
  for (int i = 0; i < count; ++i) {
    double at = axis.begin + (i + 0.5) * axis.scale - 0.5;
    if (inter == Inter::nearest || inter == Inter::area) at = axis.begin + i * axis.scale;
    const int pixel = int(std::floor(at));
    double x = at - pixel;
    if (inter == Inter::area) x = std::max(0.0, (i + 1) - (pixel + 1 - axis.begin) / axis.scale);
    list.begin(inter == Inter::cubic ? pixel - 1 : pixel);
    if (inter == Inter::nearest) {
      list.add(pixel, 1);
    } else if (inter == Inter::cubic) {
      constexpr double a = -0.75;
      const auto beyond = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
      const auto within = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
      list.add(pixel - 1, beyond(x + 1));
      list.add(pixel, within(x));
      list.add(pixel + 1, within(1 - x));
      list.add(pixel + 2, beyond(2 - x));
    } else {
      list.add(pixel, 1 - x);
      list.add(pixel + 1, x);
    }
    list.end(weights);
  }
  return weights;
}

TENON_INLINE AxisWeights axis_weights(Inter inter, bool antialias, Interval from, int size, int count,
                                      bool interpolated) {
  AxisScale axis{from.begin, from.length / count, int(std::floor(from.begin + 1e-6)),
                 int(std::ceil(from.begin + from.length - 1e-6)) - 1};
  axis.first = std::clamp(axis.first, 0, size - 1);
  axis.last = std::clamp(axis.last, axis.first, size - 1);
  if (inter == Inter::antialias || (antialias && inter != Inter::nearest && inter != Inter::area))
    return antialiased(inter, axis, count);
  if (inter == Inter::area && !interpolated) return area_weights(axis, count);
  return interpolating(inter, axis, count);
}
#endif  // TENON_DEFINES

}  // namespace detail
}  // namespace tenon::vision
