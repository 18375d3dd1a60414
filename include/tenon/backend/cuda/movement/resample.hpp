// Resampling along an axis: a thread for each element, in the order of the CPU.
#pragma once
#include <tenon/backend/cpu/movement/resample.hpp>
#include <tenon/backend/cuda/movement/lines.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// Whether a mode's places never decrease, so that those of one element are neighbours in dy.
template <class Config>
constexpr bool ascending(const Config& c) {
  using Mode = decltype(c.mode);
  return c.mode >= Mode::nearest || c.mode == Mode::replicate;
}
/// The first element of dy that may be made of element `at` of x: all before are made of smaller ones.
template <class Config>
__device__ long first_made_of(const Config& c, long in, long out, long at) {
  if (!ascending(c)) return 0;
  long first = 0, last = out;
  while (first < last) {
    const long middle = first + (last - first) / 2;
    const auto taps = c.taps(in, out, middle);
    if (c.inside(taps.first + taps.count - 1, in) < at) first = middle + 1;
    else last = middle;
  }
  return first;
}

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Resample> : kernel::cuda::Values<Kernel<Cuda, ops::Resample>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    using A = kernel::ResampleSum<T>;
    constexpr TensorType x = Call::operand(0), y = Call::result;
    constexpr auto c = Call::config();
    constexpr int axis = normalized_axis(c.axis, x.rank);
    constexpr long inner = x.span(axis + 1, x.rank);
    const long in = x.size(axis, a.n), out = y.size(axis, a.n), j = i / inner % out;
    const T* const from = a.operand<T>(0) + i / inner / out * in * inner + i % inner;
    const auto taps = c.taps(in, out, j);
    if constexpr (!c.weighted()) return from[taps.first * inner];
    else {
      A sum(0);
      for (long k = 0; k < taps.count; ++k)
        sum = kernel::add_weighted(c.template weight<A>(in, out, j, taps, k),
                                   static_cast<A>(from[c.inside(taps.first + k, in) * inner]), sum);
      return static_cast<T>(sum);
    }
  }
};

template <>
struct Kernel<Cuda, ops::ResampleGrad> : kernel::cuda::Values<Kernel<Cuda, ops::ResampleGrad>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    using A = kernel::ResampleSum<T>;
    constexpr TensorType x = Call::result, y = Call::operand(0);
    constexpr auto c = Call::config();
    constexpr int axis = normalized_axis(c.axis, x.rank);
    constexpr long inner = x.span(axis + 1, x.rank);
    const long in = x.size(axis, a.n), out = y.size(axis, a.n), at = i / inner % in;
    const T* const from = a.operand<T>(0) + i / inner / in * out * inner + i % inner;
    A sum(0);
    for (long j = kernel::cuda::first_made_of(c, in, out, at); j < out; ++j) {
      const auto taps = c.taps(in, out, j);
      if (kernel::cuda::ascending(c) && c.inside(taps.first, in) > at) break;
      for (long k = 0; k < taps.count; ++k)
        if (c.inside(taps.first + k, in) == at)
          sum = kernel::add_weighted(c.weighted() ? c.template weight<A>(in, out, j, taps, k) : A(1),
                                     static_cast<A>(from[j * inner]), sum);
    }
    return static_cast<T>(sum);
  }
};

}  // namespace tenon
TENON_EXACT_END
