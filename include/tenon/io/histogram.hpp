// Histograms of tensors, as event files hold them: MindSpore's, of equal buckets, and TensorBoard's, whose buckets grow
// with the distance from zero.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <tenon/core/tensor/any_tensor.hpp>

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
/// Calls f(element as a double) for each element; 64-bit integers beyond 2^53 are rounded.
template <class F>
void each_element(const AnyTensor& t, F f) {
  const auto walk = [&]<class T>(T) {
    for (const T& element : t.as<T>()) f(static_cast<double>(element));
  };
  switch (t.dtype) {
    case Dtype::bool_: return walk(bool{});
    case Dtype::int8: return walk(std::int8_t{});
    case Dtype::int16: return walk(std::int16_t{});
    case Dtype::int32: return walk(std::int32_t{});
    case Dtype::int64: return walk(std::int64_t{});
    case Dtype::uint8: return walk(std::uint8_t{});
    case Dtype::uint16: return walk(std::uint16_t{});
    case Dtype::uint32: return walk(std::uint32_t{});
    case Dtype::uint64: return walk(std::uint64_t{});
    case Dtype::float16: return walk(float16{});
    case Dtype::bfloat16: return walk(bfloat16{});
    case Dtype::float32: return walk(float{});
    case Dtype::float64: return walk(double{});
  }
}
inline std::vector<double> finite_elements(const AnyTensor& t) {
  std::vector<double> values;
  each_element(t, [&](double value) {
    if (std::isfinite(value)) values.push_back(value);
  });
  return values;
}
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
/// The largest limit is above every float; in front of the positive ones are the negative ones, and 0 between them.
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
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(t.count()));
  detail::each_element(t, [&](double value) {
    ++h.count;
    if (std::isfinite(value)) values.push_back(value);
    else ++(std::isnan(value) ? h.nan_count : value > 0 ? h.pos_inf_count : h.neg_inf_count);
  });
  if (values.empty()) return h;
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  h.min = *smallest, h.max = *largest;
  for (const double value : values) h.sum += value;
  const double margin = h.min < h.max ? 0 : 0.5;
  const std::int64_t count = detail::bucket_count(static_cast<std::int64_t>(values.size()));
  const bool narrow = t.dtype == Dtype::float32 || t.dtype == Dtype::float16 || t.dtype == Dtype::bfloat16;
  h.buckets = narrow ? detail::equal_buckets<float>(h.min - margin, h.max + margin, count)
                     : detail::equal_buckets<double>(h.min - margin, h.max + margin, count);
  for (const double value : values) {
    const auto behind = std::upper_bound(h.buckets.begin(), h.buckets.end(), value,
                                         [](double v, const HistogramBucket& bucket) { return v < bucket.left; });
    ++(behind == h.buckets.begin() ? *behind : *(behind - 1)).count;
  }
  return h;
}

/// TensorBoard's histogram: the limits grow by a tenth, from 1e-12 to 1e20, on both sides of zero. Empty buckets at
/// both ends are left out, but for one in front.
///
/// t           any shape and dtype, on the CPU
/// source      the histograms of TensorFlow and of PyTorch's SummaryWriter, which refuse elements that are not finite
inline LimitHistogram limit_histogram_of(const AnyTensor& t) {
  LimitHistogram h;
  const std::vector<double> values = detail::finite_elements(t);
  if (values.empty()) return h;
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  h.min = *smallest, h.max = *largest, h.num = static_cast<double>(values.size());
  const std::vector<double>& limits = detail::tensorboard_limits();
  std::vector<double> counts(limits.size() + 1, 0.0);  // one more: beyond the last limit
  for (const double value : values) {
    h.sum += value, h.sum_squares += value * value;
    ++counts[static_cast<std::size_t>(std::upper_bound(limits.begin(), limits.end(), value) - limits.begin())];
  }
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
