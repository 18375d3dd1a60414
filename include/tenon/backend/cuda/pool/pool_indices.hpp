// Which pixel of its plane is the largest of each window: a thread for each.
#pragma once
#include <tenon/backend/cpu/pool/pool_indices.hpp>
#include <tenon/backend/cuda/pool/pool2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

struct MaxPoolIndex {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::template Operand<0>;
    constexpr Pool2dSizes s = PoolKernel<MaxPool, false>::one_sample<C>;
    const PoolPosition at(i, s.oh, s.ow);
    const long top = at.row * s.stride_h - s.pad_top, left = at.column * s.stride_w - s.pad_left;
    Compute<T> best{};
    long index = -1;
    each_in_window(s, at, a.template operand<T>(0) + at.plane * s.h * s.w, [&](int own, Compute<T> value) {
      if (index < 0 || kernel::detail::takes_over(value, best))
        best = value, index = (top + own / s.kw) * s.w + left + own % s.kw;
    });
    a.template result<std::int64_t>()[i] = index;
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MaxPoolIndices> : kernel::cuda::Elements<kernel::cuda::MaxPoolIndex> {};

}  // namespace tenon
TENON_EXACT_END
