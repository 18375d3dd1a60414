// Resampling along an axis: each element of the result from its places in x, and the transposed map.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Resample;
struct ResampleGrad;
}  // namespace ops

namespace kernel::reference {
/// Calls f(element of y, element of x, weight) for all pairs that belong together.
template <class Config, class F>
void each_tap(const Config& c, const TensorType& x, const TensorType& y, long n, F f) {
  const int axis = normalized_axis(c.axis, x.rank);
  const long in = x.size(axis, n), out = y.size(axis, n);
  for (long i = 0; i < y.count(n); ++i) {
    Index index = index_of(i, y, n);
    const long j = index[std::size_t(axis)];
    const auto taps = c.taps(in, out, j);
    for (long k = 0; k < taps.count; ++k) {
      index[std::size_t(axis)] = c.inside(taps.first + k, in);
      f(i, place(index, x, n), c.template weight<double>(in, out, j, taps, k));
    }
  }
}
template <bool transposed>
struct Resampled : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const TensorType &x = transposed ? Call::result : Call::operand(0),
                     &y = transposed ? Call::operand(0) : Call::result;
    if constexpr (is_floating(dtype_of<T>)) {
      std::vector<double> sum(static_cast<std::size_t>(Call::result.count(a.n)));
      each_tap(Call::config(), x, y, a.n, [&](long i, long from, double weight) {
        sum[std::size_t(transposed ? from : i)] += weight * static_cast<double>(a.operand<T>(0)[transposed ? i : from]);
      });
      for (std::size_t i = 0; i < sum.size(); ++i) a.result<T>()[i] = rounded<T>(sum[i]);
    } else {
      std::vector<T> sum(static_cast<std::size_t>(Call::result.count(a.n)));
      each_tap(Call::config(), x, y, a.n, [&](long i, long from, double) {
        sum[std::size_t(transposed ? from : i)] = a.operand<T>(0)[transposed ? i : from];
      });
      for (std::size_t i = 0; i < sum.size(); ++i) a.result<T>()[i] = sum[i];
    }
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Resample> : kernel::reference::Resampled<false> {};
template <>
struct Kernel<Reference, ops::ResampleGrad> : kernel::reference::Resampled<true> {};

}  // namespace tenon
TENON_EXACT_END
