// The windows of images as columns, and sums of such columns: a thread for each element, in the order of the CPU.
#pragma once
#include <tenon/backend/cpu/movement/unfold.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::Im2Col> : kernel::cuda::Values<Kernel<Cuda, ops::Im2Col>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr long windows = long(c.rows) * c.columns, taps = long(c.kh) * c.kw;
    const long k = i / windows % taps, row = c.row(k, i % windows / c.columns), column = c.column(k, i % c.columns);
    if (row < 0 || row >= c.height || column < 0 || column >= c.width) return T{};
    return a.operand<T>(0)[(i / windows / taps * c.height + row) * c.width + column];
  }
};

template <>
struct Kernel<Cuda, ops::Col2Im> : kernel::cuda::Values<Kernel<Cuda, ops::Col2Im>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    using A = kernel::ResampleSum<T>;
    constexpr auto c = Call::config();
    constexpr long windows = long(c.rows) * c.columns, taps = long(c.kh) * c.kw;
    const T* const from = a.operand<T>(0) + i / (long(c.height) * c.width) * taps * windows;
    A sum(0);
    for (long kr = 0; kr < c.kh; ++kr) {
      const long r = c.window_row(kr, i / c.width % c.height);
      if (r < 0) continue;
      A own(0);
      for (long kc = 0; kc < c.kw; ++kc) {
        const long q = c.window_column(kc, i % c.width);
        if (q < 0) continue;
        own = kernel::add_weighted(A(1), static_cast<A>(from[((kr * c.kw + kc) * c.rows + r) * c.columns + q]), own);
      }
      sum = kernel::add_weighted(A(1), static_cast<A>(static_cast<T>(own)), sum);
    }
    return static_cast<T>(sum);
  }
};

}  // namespace tenon
TENON_EXACT_END
