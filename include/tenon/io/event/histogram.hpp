// Histograms of tensors, as event files hold them: MindSpore's, of equal buckets, and TensorBoard's, whose buckets grow
// with the distance from zero.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <tenon/core/tensor/elements_as_doubles.hpp>

namespace tenon::inline TENON_ABI::io {

struct HistogramBucket {
  double left = 0, width = 0;
  std::int64_t count = 0;
};

/// How the elements of a tensor are spread: buckets of one width between the smallest and the largest. Only finite
/// elements are in the buckets and in min, max, and sum; count has all.
struct Histogram {
  std::vector<HistogramBucket> buckets;
  std::int64_t nan_count = 0, pos_inf_count = 0, neg_inf_count = 0, count = 0;
  double max = 0, min = 0, sum = 0;
};

/// The same with TensorBoard's buckets: bucket i has counts[i] elements that are smaller than limits[i] and in no
/// bucket before it. Finite elements alone.
struct LimitHistogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};

namespace detail {
/// The smallest and the largest finite element, and how many there are; 0 without one.
struct FiniteRange {
  double min = 0, max = 0;
  std::int64_t count = 0;

  void add(double value) {
    if (count == 0 || value < min) min = value;
    if (count == 0 || !(value < max)) max = value;
    ++count;
  }
};
/// About ten elements in a bucket.
constexpr std::int64_t bucket_count(std::int64_t elements) {
  constexpr std::int64_t most = 90, most_in_one = 10;
  if (elements == 0) return 1;
  if (elements <= 5) return 2;
  if (elements <= 10) return 3;
  return elements <= 880 ? elements / most_in_one + 1 : most;
}
/// count + 1 borders with equal distances, rounded as `Edge` is. The borders of float tensors are floats.
template <class Edge>
std::vector<HistogramBucket> equal_buckets(double first, double last, std::int64_t count) {
  const double parts = static_cast<double>(count), all = last - first;
  const double step = std::isfinite(all) ? all / parts : last / parts - first / parts;
  const auto edge = [&](std::int64_t i) {
    return static_cast<Edge>(i == count ? last : static_cast<double>(i) * step + first);
  };
  std::vector<HistogramBucket> buckets;
  for (std::int64_t i = 0; i < count; ++i) {
    const Edge left = edge(i), width = edge(i + 1) - left;
    buckets.push_back({static_cast<double>(left),
                       std::isfinite(width) ? static_cast<double>(width)
                                            : static_cast<double>(edge(i + 1)) - static_cast<double>(left),
                       0});
  }
  return buckets;
}
/// The largest limit is above every float; before the positive ones are the negative ones, and 0 between them.
inline const std::vector<double>& tensorboard_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive, all;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}
}  // namespace detail

/// MindSpore's histogram. 0 elements make 1 bucket, up to 5 make 2, up to 10 make 3, n up to 880 make n / 10 + 1, more
/// make 90. A bucket has its left border, the last one also its right one. Without a finite element there is none.
///
/// t           any shape and dtype, on the CPU
/// source      MindSpore 2.10. There borders for integers are rounded down to integers, so that buckets may be empty
///             ones of width 0; here they are not
inline Histogram histogram_of(const AnyTensor& t) {
  Histogram h;
  detail::FiniteRange range;
  each_as_double(t, [&](double value) {
    ++h.count;
    if (!std::isfinite(value))
      return void(++(std::isnan(value) ? h.nan_count : value > 0 ? h.pos_inf_count : h.neg_inf_count));
    range.add(value);
    h.sum += value;
  });
  if (range.count == 0) return h;
  h.min = range.min, h.max = range.max;
  const double margin = h.min < h.max ? 0 : 0.5;
  const std::int64_t count = detail::bucket_count(range.count);
  const bool narrow = t.dtype == Dtype::float32 || t.dtype == Dtype::float16 || t.dtype == Dtype::bfloat16;
  h.buckets = narrow ? detail::equal_buckets<float>(h.min - margin, h.max + margin, count)
                     : detail::equal_buckets<double>(h.min - margin, h.max + margin, count);
  // once more through the tensor, instead of a copy of it
  each_as_double(t, [&](double value) {
    if (!std::isfinite(value)) return;
    const auto behind = std::upper_bound(h.buckets.begin(), h.buckets.end(), value,
                                         [](double v, const HistogramBucket& bucket) { return v < bucket.left; });
    ++(behind == h.buckets.begin() ? *behind : *(behind - 1)).count;
  });
  return h;
}

/// TensorBoard's histogram: the limits grow by a tenth, from 1e-12 to 1e20, on both sides of zero. Empty buckets at
/// both ends are left out, but for one in front.
///
/// t           any shape and dtype, on the CPU
/// source      the histograms of TensorFlow and of PyTorch's SummaryWriter, which refuse elements that are not finite
inline LimitHistogram limit_histogram_of(const AnyTensor& t) {
  LimitHistogram h;
  const std::vector<double>& limits = detail::tensorboard_limits();
  std::vector<double> counts(limits.size() + 1, 0.0);  // one more: beyond the last limit
  detail::FiniteRange range;
  each_as_double(t, [&](double value) {
    if (!std::isfinite(value)) return;
    range.add(value);
    h.sum += value, h.sum_squares += value * value;
    ++counts[static_cast<std::size_t>(std::upper_bound(limits.begin(), limits.end(), value) - limits.begin())];
  });
  if (range.count == 0) return h;
  h.min = range.min, h.max = range.max, h.num = static_cast<double>(range.count);
  const auto filled = [](double count) { return count > 0; };
  const auto first = static_cast<std::size_t>(std::find_if(counts.begin(), counts.end(), filled) - counts.begin()),
             behind = static_cast<std::size_t>(counts.rend() - std::find_if(counts.rbegin(), counts.rend(), filled));
  for (std::size_t i = first > 0 ? first - 1 : 0; i < behind; ++i) {
    h.limits.push_back(i < limits.size() ? limits[i] : std::numeric_limits<double>::max());
    h.counts.push_back(counts[i]);
  }
  return h;
}

/// The same with each run of empty buckets as one, as TensorFlow writes it: some hundred numbers less.
inline LimitHistogram without_empty_runs(const LimitHistogram& h) {
  LimitHistogram result = h;
  result.limits.clear(), result.counts.clear();
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const bool goes_on = i > 0 && h.counts[i] == 0 && h.counts[i - 1] == 0;
    if (goes_on) {
      result.limits.back() = h.limits[i];
    } else {
      result.limits.push_back(h.limits[i]);
      result.counts.push_back(h.counts[i]);
    }
  }
  return result;
}

}  // namespace tenon::io
