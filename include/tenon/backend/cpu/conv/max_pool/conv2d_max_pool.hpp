// Convolution with the maximum over windows of 2 x 2 after it: what is between never reaches memory but a row of
// windows at a time.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/pool/conv_max.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/conv/max_pool/pooled_channels_last.hpp>
#include <tenon/backend/cpu/nchw16n/conv2d.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Independent parts, and bytes of scratch per thread, as for conv2d.
constexpr long conv2d_max_pool_items(const Conv2dSizes& s);
constexpr std::size_t conv2d_max_pool_workspace(const Conv2dSizes& s);
constexpr std::size_t nchw16n_conv2d_max_pool_workspace(const Conv2dSizes& s);

/// y [n, o, oh / 2, ow / 2] = the maxima, as by max_pool2d, over windows of 2 x 2 side by side of what `pool` makes of
/// the sums of conv2d, whose sizes these are. `argmaxes`: as PooledSums says, of the extents of y; null if they are not
/// kept.
void conv2d_max_pool(const Conv2dSizes& s, const float* x, const float* weight, float* y, float* argmaxes, long begin,
                     long end, void* workspace, const PoolSums& pool);

/// What it makes of sizes and weights before it computes, where channels are the lanes, and the convolution with that.
/// 0 bytes: nothing.
long conv2d_max_pool_kept_bytes(const Conv2dSizes& s);
void keep_conv2d_max_pool(const Conv2dSizes& s, const float* weight, void* to);
void conv2d_max_pool_kept(const Conv2dSizes& s, const float* x, const void* kept, float* y, float* argmaxes, long begin,
                          long end, void* workspace, const PoolSums& pool);

/// The same, x and y in NCHW16n; items are those of nchw16n_conv2d.
void nchw16n_conv2d_max_pool(const Conv2dSizes& s, const float* x, const float* weight, float* y, float* argmaxes,
                             long begin, long end, void* workspace, const PoolSums& pool, const Nchw16nTiles& tiles);

#if TENON_DEFINES
constexpr long conv2d_max_pool_items(const Conv2dSizes& s) {
  const detail::PooledPlan lanes = detail::pooled_channels_last(s);
  return lanes.pays ? s.n * s.groups * lanes.row_blocks : conv2d_items(s);
}
constexpr std::size_t conv2d_max_pool_workspace(const Conv2dSizes& s) {
  const detail::PooledPlan lanes = detail::pooled_channels_last(s);
  return lanes.pays ? lanes.scratch.total : detail::conv_scratch<float>(detail::pooled_forward(s)).total;
}

[[gnu::noinline]] TENON_INLINE void conv2d_max_pool(const Conv2dSizes& s, const float* x, const float* weight, float* y,
                                                    float* argmaxes, long begin, long end, void* workspace,
                                                    const PoolSums& pool) {
  const long plane = s.oh / 2 * (s.ow / 2), image = s.h * s.w;
  const auto source = [&](long sample, long group) { return x + (sample * s.c + group * s.group_inputs()) * image; };
  if (const detail::PooledPlan plan = detail::pooled_channels_last(s); plan.pays) {
    detail::PooledChannelsLast convolution(plan, workspace);
    convolution.take(static_cast<char*>(workspace));
    convolution.describe();
    long packed = -1, rows_packed = 0;
    return detail::each_run(plan, s.groups, begin, end, [&](long sample, long group, long row0, long rows) {
      const long o = group * plan.rows + row0;
      if (packed != o || rows_packed != rows)
        convolution.pack(weight + o * plan.steps, rows), packed = o, rows_packed = rows;
      const long first = (sample * s.o + o) * plane;
      convolution.run(source(sample, group), y + first, argmaxes ? argmaxes + first : nullptr, rows, o, pool);
    });
  }
  const detail::ConvPlan c = detail::pooled_forward(s);
  detail::DirectConv<float> conv(c, workspace);
  detail::add_taps(conv, c);
  if (c.by_rows && all_finite(weight, s.o * c.row_step)) conv.leave_out_padding();
  detail::each_run(c, s.groups, begin, end, [&](long sample, long group, long row0, long rows) {
    const long o = group * c.rows + row0;
    const auto take = [&](const float* sums, long pitch, long first, long count, long i0, long band) {
      for (long r = 0; r < count; ++r) {
        const long at = (sample * s.o + o + first + r) * plane + i0 / 2 * (s.ow / 2);
        pool({PoolLanes::pixels, sums + r * pitch, c.image.pitch, 1, s.ow / 2, 1, y + at,
              argmaxes ? argmaxes + at : nullptr, 1, o + first + r, band / 2, 2 * c.image.pitch});
      }
    };
    conv.run_into(take, weight + o * c.row_step, source(sample, group), rows);
  });
}

namespace detail {
// What is kept: the plan, then pixels, taps, and the weights of every group as the workspace would have them.
constexpr long kept_plan_bytes = round_up(sizeof(PooledPlan), 64);
}  // namespace detail
[[gnu::noinline]] TENON_INLINE long conv2d_max_pool_kept_bytes(const Conv2dSizes& s) {
  const detail::PooledPlan plan = detail::pooled_channels_last(s);
  const long weights = s.groups * plan.steps * plan.rows * long(sizeof(float));
  return plan.pays ? detail::kept_plan_bytes + long(plan.scratch.weights) + weights : 0;
}
[[gnu::noinline]] TENON_INLINE void keep_conv2d_max_pool(const Conv2dSizes& s, const float* weight, void* to) {
  const detail::PooledPlan& plan = *new (to) detail::PooledPlan(detail::pooled_channels_last(s));
  detail::PooledChannelsLast convolution(plan);
  convolution.take(static_cast<char*>(to) + detail::kept_plan_bytes);
  convolution.describe();
  float* const packed = convolution.weights();
  for (long group = 0, weights = plan.steps * plan.rows; group < s.groups; ++group) {
    convolution.take_weights(packed + group * weights, 0);
    convolution.pack(weight + group * weights, plan.rows);
  }
}
[[gnu::noinline]] TENON_INLINE void conv2d_max_pool_kept(const Conv2dSizes& s, const float* x, const void* kept,
                                                         float* y, float* argmaxes, long begin, long end,
                                                         void* workspace, const PoolSums& pool) {
  const detail::PooledPlan& plan = *static_cast<const detail::PooledPlan*>(kept);
  const long plane = s.oh / 2 * (s.ow / 2), image = s.h * s.w, weights = plan.steps * plan.rows;
  detail::PooledChannelsLast convolution(plan, workspace);
  convolution.take(static_cast<char*>(const_cast<void*>(kept)) + detail::kept_plan_bytes);
  float* const packed = convolution.weights();
  detail::each_run(plan, s.groups, begin, end, [&](long sample, long group, long row0, long rows) {
    const long o = group * plan.rows + row0, first = (sample * s.o + o) * plane;
    convolution.take_weights(packed + group * weights, row0);
    convolution.run(x + (sample * s.c + group * s.group_inputs()) * image, y + first,
                    argmaxes ? argmaxes + first : nullptr, rows, o, pool);
  });
}

namespace detail {
constexpr Nchw16nPlan nchw16n_pooled_forward(const Conv2dSizes& s) {
  return without_copy(nchw16n_plan(pooled_geometry(s), true));
}
}  // namespace detail
constexpr std::size_t nchw16n_conv2d_max_pool_workspace(const Conv2dSizes& s) {
  return detail::nchw16n_scratch(detail::nchw16n_pooled_forward(s)).total +
         std::size_t(2 * block_rows * s.ow * detail::block_pixel);
}

[[gnu::noinline]] TENON_INLINE void nchw16n_conv2d_max_pool(const Conv2dSizes& s, const float* x, const float* weight,
                                                            float* y, float* argmaxes, long begin, long end,
                                                            void* workspace, const PoolSums& pool,
                                                            const Nchw16nTiles& tiles) {
  const detail::Nchw16nPlan c = detail::nchw16n_pooled_forward(s);
  detail::Nchw16nConv conv(c, workspace, tiles);
  float* const sums = reinterpret_cast<float*>(static_cast<char*>(workspace) + detail::nchw16n_scratch(c).total);
  detail::add_taps(conv, c);
  const bool finite = all_finite(weight, s.o * c.row_step);
  const long image = s.h * s.w * block_samples, across = c.width / 2, row = c.width * block_samples,
             plane = c.height / 2 * across * block_samples;
  detail::each_run(c, s.groups, begin, end, [&](long block, long group, long row0, long rows) {
    const long o = group * c.rows + row0, lanes = block_lanes(s.n - block * block_samples);
    conv.take_samples(s.n - block * block_samples);
    const auto take = [&](long first, long count, long pixel, long) {
      for (long r = 0; r < count; ++r) {
        const long at = (block * s.o + o + first + r) * plane + pixel / 4 * block_samples;
        pool({PoolLanes::samples, sums + r * 2 * row, row, block_samples, across, lanes, y + at,
              argmaxes ? argmaxes + at : nullptr, block_samples, o + first + r});
      }
    };
    conv.run(weight + o * c.row_step, x + (block * s.c + group * s.group_inputs()) * image, sums, rows, finite, take);
  });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2dMaxPool;
struct Conv2dMaxPoolArgmax;
}  // namespace ops

namespace kernel {
namespace detail {
constexpr Conv2dSizes pooling_sizes(const TensorType& x, const TensorType& w, TensorType y,
                                    const ops::Conv2dAttributes& c) {
  y.extent[2] = c.first, y.extent[3] = c.second;
  return conv_sizes(x, w, y, c);
}
// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork pooling_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_max_pool_items(s), conv2d_max_pool_workspace(s.of(1)));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_pooling_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_items(s), nchw16n_conv2d_max_pool_workspace(s));
}
#else
KernelWork pooling_work(const Conv2dSizes& s);
KernelWork nchw16n_pooling_work(const Conv2dSizes& s);
#endif
}  // namespace detail

TENON_EXACT_BEGIN
/// The kernel of both operators. keeps: there are argmaxes.
template <bool keeps>
struct PoolingConv2d {
  static constexpr KernelFacts facts{.channel_axis = 1, .nchw16n = Nchw16n::wants};
  template <class Call>
  static constexpr Conv2dSizes one_sample =
      detail::pooling_sizes(Call::operand(0), Call::operand(1), Call::result, Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return detail::pooling_work(sizes<Call>(n));
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::nchw16n_pooling_work(sizes<Call>(n));
  }

  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), argmaxes<Call>(a),
                    begin, end, a.workspace, steps<Call>(a, more_operands<Call>()));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    nchw16n_conv2d_max_pool(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                            argmaxes<Call>(a), begin, end, a.workspace, steps<Call>(a, more_operands<Call>()),
                            nchw16n_tiles_for<one_sample<Call>.group_outputs()>());
  }

  static constexpr int kept_operand = 1;
  template <class Call>
  static constexpr bool keeps_operand() {
    return true;
  }
  template <class Call>
  static long kept_bytes(long n) {
    return conv2d_max_pool_kept_bytes(sizes<Call>(n));
  }
  template <class Call>
  static void keep(const void* weight, long n, void* to) {
    keep_conv2d_max_pool(sizes<Call>(n), static_cast<const float*>(weight), to);
  }
  template <class Call>
  static constexpr KernelWork kept_work(long n) {
    return work<Call>(n);
  }
  template <class Call>
  static void run_kept(const Arguments& a, long begin, long end) {
    conv2d_max_pool_kept(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                         argmaxes<Call>(a), begin, end, a.workspace, steps<Call>(a, more_operands<Call>()));
  }

 private:
  template <class Call>
  static float* argmaxes([[maybe_unused]] const Arguments& a) {
    if constexpr (keeps) return result_of<Call, 1>(a);
    else return nullptr;
  }
  template <class Call>
  static constexpr auto more_operands() {
    return std::make_integer_sequence<int, Call::operands - Call::Op::operands_before_epilogue>();
  }
  template <class Call, int... K>
  static auto steps(const Arguments& a, std::integer_sequence<int, K...>) {
    using Steps = std::conditional_t<(Call::steps > 0), FusedFunction<float, typename Call::Joined>, SameSum>;
    constexpr int first = Call::Op::operands_before_epilogue;
    return PoolSteps<Steps, keeps, (Call::operand(first + K).count(1) > 1)...>{{a.operand<float>(first + K)...}};
  }
};
TENON_EXACT_END
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Conv2dMaxPool> : kernel::PoolingConv2d<false> {};
template <>
struct Kernel<Cpu, ops::Conv2dMaxPoolArgmax> : kernel::PoolingConv2d<true> {};

}  // namespace tenon
