// The gradient of max pooling over windows of 2 x 2 whose argmaxes are known (pool/conv_max.hpp).
#pragma once
#include <tenon/backend/cpu/nchw16n/pool2d.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/graph/pass/fuse_max_pool.hpp>
#include <tenon/target/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// dx = dy at the argmax of each window, else 0, for the planes [begin, end). As max_pool2d_backward, which adds to 0
/// where rows have less than least_spread_windows windows: -0 would become 0.
inline constexpr int least_spread_windows = detail::half_lanes<float>;
static_assert(least_spread_windows == tenon::detail::least_windows, "the fuse pass joins from there on");
void spread_argmaxes(const Pool2dSizes& s, const float* argmaxes, const float* dy, float* dx, long begin, long end);
/// The same in NCHW16n; planes are those of all blocks.
void nchw16n_spread_argmaxes(const Pool2dSizes& s, const float* argmaxes, const float* dy, float* dx, long begin,
                             long end);

#if TENON_DEFINES
namespace detail {
/// What each of the four pixels of some windows gets: dy if it is the argmax.
template <int Lanes>
[[gnu::always_inline]] inline void spread_to(Simd<float, Lanes> argmax, Simd<float, Lanes> dy,
                                             Simd<float, Lanes> (&out)[4]) {
  using V = Simd<float, Lanes>;
  const V zero(0.0f);
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t)
    out[t] = choose_greater(argmax, V(float(t) - 0.5f), choose_greater(V(float(t) + 0.5f), argmax, dy, zero), zero);
}

// One plane, whose rows of windows have at least half_lanes of them.
inline void spread_plane(const Pool2dSizes& s, const float* argmaxes, const float* dy, float* dx) {
  constexpr int width = half_lanes<float>;
  using V = Simd<float, width>;
  for (long i = 0; i < s.oh; ++i)
    for (long j = 0; j < s.ow; j += width) {
      const long start = j + width <= s.ow ? j : s.ow - width, upper = 2 * i * s.w + 2 * start, lower = upper + s.w;
      V out[4];
      spread_to(V::load(argmaxes + i * s.ow + start), V::load(dy + i * s.ow + start), out);
      for (int half = 0; half < 2; ++half) {
        interleaved(out[0], out[1], half).store(dx + upper + half * width);
        interleaved(out[2], out[3], half).store(dx + lower + half * width);
      }
    }
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void spread_argmaxes(const Pool2dSizes& s, const float* argmaxes, const float* dy,
                                                    float* dx, long begin, long end) {
  for (long plane = begin; plane < end; ++plane) {
    const long from = plane * s.oh * s.ow, to = plane * s.h * s.w;
    if (2 * s.oh < s.h || 2 * s.ow < s.w) clear(dx + to, s.h * s.w);  // pixels outside of every window
    detail::spread_plane(s, argmaxes + from, dy + from, dx + to);
  }
}
[[gnu::noinline]] TENON_INLINE void nchw16n_spread_argmaxes(const Pool2dSizes& s, const float* argmaxes,
                                                            const float* dy, float* dx, long begin, long end) {
  using V = detail::SampleVector;
  detail::each_nchw16n_plane(s, begin, end, [&](long to, long from) {
    if (2 * s.oh < s.h || 2 * s.ow < s.w)
      for (long p = 0; p < s.h * s.w; ++p) V(0.0f).store(dx + to + p * block_samples);
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const long window = from + (i * s.ow + j) * block_samples;
        float *const upper = dx + to + (2 * i * s.w + 2 * j) * block_samples, *const lower =
                                                                                  upper + s.w * block_samples;
        V out[4];
        detail::spread_to(V::load(argmaxes + window), V::load(dy + window), out);
        out[0].store(upper), out[1].store(upper + block_samples);
        out[2].store(lower), out[3].store(lower + block_samples);
      }
  });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPoolSpread;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::MaxPoolSpread> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr kernel::Pool2dSizes sizes{
      Call::result[1], Call::result[2], Call::result[3], Call::operand(0)[2], Call::operand(0)[3], 2, 2, 2, 2, 0, 0};
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::spread_argmaxes(sizes<Call>, a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples * Call::result[1], Call::result.span(2, 4) * block_samples / 4 + 1, 0};
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::nchw16n_spread_argmaxes(sizes<Call>, a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin,
                                    end);
  }
};

}  // namespace tenon
