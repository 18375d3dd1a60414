// Which pixel of its plane is the largest of each window.
#pragma once
#include <tenon/backend/cpu/pool/pool2d_kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPoolIndices;
}

namespace kernel {
template <class T>
[[gnu::noinline]] void find_maxima(const Pool2dSizes& s, const T* x, std::int64_t* index, long begin, long end) {
  for (long plane = begin; plane < end; ++plane) {
    const T* const own = x + plane * s.h * s.w;
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const detail::PoolWindow at = detail::window(s, i, j);
        long place = at.top * s.w + at.left;
        detail::PoolValue<T> best = static_cast<detail::PoolValue<T>>(own[place]);
        for (long r = at.top; r < at.bottom; ++r)
          for (long k = at.left; k < at.right; ++k) {
            const detail::PoolValue<T> other = static_cast<detail::PoolValue<T>>(own[r * s.w + k]);
            if (detail::takes_over(other, best)) best = other, place = r * s.w + k;
          }
        index[(plane * s.oh + i) * s.ow + j] = place;
      }
  }
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::MaxPoolIndices> {
  template <class Call>
  static constexpr kernel::Pool2dSizes sizes = kernel::PoolKernel<kernel::MaxPool, false>::one_sample<Call>;
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long cost(long) {
    return sizes<Call>.oh * sizes<Call>.ow * sizes<Call>.kh * sizes<Call>.kw;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::find_maxima(sizes<Call>, a.operand<typename Call::template Operand<0>>(0), a.result<std::int64_t>(), begin,
                        end);
  }
};

}  // namespace tenon
TENON_EXACT_END
