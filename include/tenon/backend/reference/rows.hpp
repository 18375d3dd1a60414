// Rows along an axis, and the mean and variance of some numbers: what softmax and normalization are written with.
#pragma once
#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::reference {

/// Calls f(count, place) for every row of `t` along an axis: place(k) is the number of its element k.
template <class F>
void for_each_row(const TensorType& t, int axis, long n, F f) {
  axis = normalized_axis(axis, t.rank);
  const long count = t.size(axis, n), distance = t.span(axis + 1, t.rank);
  for (long i = 0; i < t.count(n); ++i)
    if (i / distance % count == 0) f(count, [i, distance](long k) { return i + k * distance; });
}

/// x(0) + ... + x(count - 1)
template <class X>
double sum_of(long count, X x) {
  double sum = 0;
  for (long i = 0; i < count; ++i) sum += x(i);
  return sum;
}

struct MeanVariance {
  double mean, variance;
};
/// Of x(0) .. x(count - 1). The distances from the first number are added up, so that equal ones have no variance.
template <class X>
MeanVariance moments_of(long count, X x) {
  const double mean = x(0) + sum_of(count, [&](long i) { return x(i) - x(0); }) / double(count);
  return {mean, sum_of(count, [&](long i) { return (x(i) - mean) * (x(i) - mean); }) / double(count)};
}

}  // namespace tenon::kernel::reference
TENON_EXACT_END
