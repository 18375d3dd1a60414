// Adaptive maximum pooling: a thread per window, and per pixel of its gradient.
#pragma once
#include <tenon/backend/cpu/pool/adaptive_max_pool.hpp>
#include <tenon/backend/cuda/pool/pool2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

struct AdaptiveMaximum {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    const ops::EvenWindows rows{c.h, c.oh}, columns{c.w, c.ow};
    const PoolPosition at(i, c.oh, c.ow);
    const T* const x = a.template operand<T>(0) + at.plane * c.h * c.w;
    const long left = columns.begin(at.column), right = columns.end(at.column), bottom = rows.end(at.row);
    long place = rows.begin(at.row) * c.w + left;
    Compute<T> best = static_cast<Compute<T>>(x[place]);
    for (long row = rows.begin(at.row); row < bottom; ++row) {
      for (long column = left; column < right; ++column) {
        const Compute<T> value = static_cast<Compute<T>>(x[row * c.w + column]);
        if (kernel::detail::takes_over(value, best)) best = value, place = row * c.w + column;
      }
    }
    a.template result<T>()[i] = static_cast<T>(best);
    if constexpr (has_result<C, 1>) {
      result_of<C, 1>(a)[i] = static_cast<std::int32_t>(place);
    }
  }
};

/// Operands places, dy.
struct AdaptiveMaximumGradient {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = AdaptiveSum<C>;
    constexpr auto c = C::config();
    const ops::EvenWindows rows{c.h, c.oh}, columns{c.w, c.ow};
    const PoolPosition pixel(i, c.h, c.w);
    const std::int32_t* const places = a.template operand<std::int32_t>(0) + pixel.plane * c.oh * c.ow;
    const T* const dy = a.template operand<T>(1) + pixel.plane * c.oh * c.ow;
    const std::int32_t own = pixel.row * c.w + pixel.column;
    const long last_row = rows.last_with(pixel.row), first = columns.first_with(pixel.column),
               last = columns.last_with(pixel.column);
    A sum(0);
    for (long row = rows.first_with(pixel.row); row <= last_row; ++row) {
      for (long k = row * c.ow + first; k <= row * c.ow + last; ++k) {
        if (places[k] == own) sum = sum + static_cast<A>(static_cast<Compute<T>>(dy[k]));
      }
    }
    a.template result<T>()[i] = static_cast<T>(sum);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::AdaptiveMaxPool> : kernel::cuda::Elements<kernel::cuda::AdaptiveMaximum> {};
template <>
struct Kernel<Cuda, ops::AdaptiveMaxPoolGrad> : kernel::cuda::Elements<kernel::cuda::AdaptiveMaximumGradient> {};

}  // namespace tenon
TENON_EXACT_END
