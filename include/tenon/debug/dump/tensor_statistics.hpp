// TensorStatistics: what a dump says of a tensor's elements, and its line in statistic.csv.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/debug/dump/dumped_tensor.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Extremes and mean of the finite elements, and how many there are of each kind. Every element is counted in one of
/// the kinds.
struct TensorStatistics {
  double min = std::numeric_limits<double>::infinity(), max = -min, mean = 0;
  std::size_t count = 0, nan = 0, negative_infinity = 0, positive_infinity = 0;
  std::size_t negative = 0, positive = 0, zero = 0;  // finite ones; -0 is a zero

  [[gnu::cold]] explicit TensorStatistics(const AnyTensor& tensor);
  std::size_t finite() const { return negative + positive + zero; }

 private:
  void add(double x, double& sum);
};

/// The header of statistic.csv. Its columns "Negative Zero Count" and "Positive Zero Count" hold the numbers of
/// negative and of positive elements, as MindSpore's do; what is zero stands under "Zero Count".
inline constexpr std::string_view statistic_header =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,Count,"
    "Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero Count\n";

/// The line of a tensor: names as in its file's name, sizes in bytes, shape "(2,3)", null for the extremes and the mean
/// of a tensor without finite elements.
[[gnu::cold]] std::string statistic_line(const DumpedTensor& what, const AnyTensor& tensor);

inline TensorStatistics::TensorStatistics(const AnyTensor& tensor) : count(std::size_t(tensor.count())) {
  constexpr std::size_t piece = 512;
  double values[piece], total = 0;
  for (std::size_t first = 0; first < count; first += piece) {
    const std::size_t here = std::min(piece, count - first);
    elements_as_doubles(tensor, first, here, values);
    double sum = 0;
    for (std::size_t i = 0; i < here; ++i) add(values[i], sum);
    total += sum;
  }
  if (finite() > 0) mean = total / double(finite());
}
inline void TensorStatistics::add(double x, double& sum) {
  if (std::isnan(x)) return void(++nan);
  if (std::isinf(x)) return void(++(x < 0 ? negative_infinity : positive_infinity));
  ++(x < 0 ? negative : x > 0 ? positive : zero);
  min = std::min(min, x);
  max = std::max(max, x);
  sum += x;
}

inline std::string statistic_line(const DumpedTensor& what, const AnyTensor& tensor) {
  const TensorStatistics s(tensor);
  const bool single = tensor.dtype == Dtype::float32 || is_half_dtype(tensor.dtype);
  const auto exact = [&](double x) {
    return s.finite() == 0 ? std::string("null") : single ? text(static_cast<float>(x)) : text(x);
  };
  std::string shape;
  for (const std::int64_t extent : tensor.shape()) shape += text(shape.empty() ? "" : ",", extent);
  const std::string where = text(file_word(what.type), ",", file_word(what.name), ",0,0,", what.time, ",",
                                 what.output ? "output," : "input,", what.slot, ",");
  return text(where, tensor.bytes(), ",", name(tensor.dtype), ",\"(", shape, ")\",", exact(s.max), ",", exact(s.min),
              ",", s.finite() == 0 ? std::string("null") : text(s.mean), ",", s.count, ",", s.negative, ",") +
         text(s.positive, ",", s.nan, ",", s.negative_infinity, ",", s.positive_infinity, ",", s.zero, "\n");
}

}  // namespace tenon::debug
