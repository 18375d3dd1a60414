// difference_between: how far the elements of two tensors are apart.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#include <tenon/core/tensor/elements_as_doubles.hpp>

namespace tenon::inline TENON_ABI::debug {

/// How far the elements of two tensors are apart. Elements of which one is not finite are among those that differ, and
/// in none of the errors.
struct TensorDifference {
  std::string tensor;  // "LeNet/0/3/Conv2D.Default_network-LeNet_conv1-Conv2d_Conv2D-op0.output.0"
  std::string reason;  // why elements were not compared: another shape, dtype, or a broken file; else empty
  std::size_t count = 0, different = 0;  // elements with other bits; NaNs are all alike
  double max_abs = 0, mean_abs = 0;      // |a - b|
  double max_rel = 0;                    // |a - b| / max(|a|, |b|)
  double cosine = 1;                     // of the angle between the two as vectors; 1 if both are zero
};

namespace detail {
/// Sums over elements, from which the errors come.
struct ErrorSums {
  double abs = 0, first = 0, second = 0, both = 0;
  std::size_t finite = 0;
};
inline void add_error(double a, double b, bool same_bits, ErrorSums& sums, TensorDifference& d) {
  if (!same_bits && !(std::isnan(a) && std::isnan(b))) ++d.different;
  if (!std::isfinite(a) || !std::isfinite(b)) return;
  const double error = std::fabs(a - b), largest = std::max(std::fabs(a), std::fabs(b));
  d.max_abs = std::max(d.max_abs, error);
  if (largest > 0) d.max_rel = std::max(d.max_rel, error / largest);
  sums.abs += error;
  sums.first += a * a;
  sums.second += b * b;
  sums.both += a * b;
  ++sums.finite;
}
[[gnu::cold]] inline void compare_elements(const AnyTensor& a, const AnyTensor& b, TensorDifference& d) {
  constexpr std::size_t piece = 512;
  const std::size_t size = size_of(a.dtype);
  const auto *const a_bytes = static_cast<const std::byte*>(a.data), *const b_bytes = static_cast<std::byte*>(b.data);
  double a_values[piece], b_values[piece];
  ErrorSums sums;
  for (std::size_t begin = 0; begin < d.count; begin += piece) {
    const std::size_t here = std::min(piece, d.count - begin);
    elements_as_doubles(a, begin, here, a_values);
    elements_as_doubles(b, begin, here, b_values);
    for (std::size_t i = 0; i < here; ++i) {
      const std::size_t place = (begin + i) * size;
      add_error(a_values[i], b_values[i], std::memcmp(a_bytes + place, b_bytes + place, size) == 0, sums, d);
    }
  }
  if (sums.finite > 0) d.mean_abs = sums.abs / double(sums.finite);
  if (sums.first > 0 || sums.second > 0)
    d.cosine = sums.both == 0 ? 0 : sums.both / (std::sqrt(sums.first) * std::sqrt(sums.second));
}
}  // namespace detail

/// Compares two tensors, on the host, of which the first has this name.
[[gnu::cold]] inline TensorDifference difference_between(const std::string& tensor, const AnyTensor& a,
                                                         const AnyTensor& b) {
  TensorDifference d;
  d.tensor = tensor;
  d.count = std::size_t(a.count());
  if (a.dtype != b.dtype || !std::ranges::equal(a.shape(), b.shape()))
    d.reason = text(name(a.dtype), " ", shape_text(a.shape()), " and ", name(b.dtype), " ", shape_text(b.shape()));
  else if (d.count > 0) detail::compare_elements(a, b, d);
  return d;
}

}  // namespace tenon::debug
