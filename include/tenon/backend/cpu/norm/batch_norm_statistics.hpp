// Batch normalization: mean and variance of each channel of a batch.
#pragma once
#include <tenon/backend/cpu/nchw16n/batch_norm.hpp>
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct BatchNormStatistics;
}  // namespace ops

namespace kernel {
/// A batch [n, C, H, W] or [n, C] as its kernels see it: rows of channels, each a plane of `spatial` elements.
template <class Call, int OperandNumber = 0>
struct ChannelLayout {
  static constexpr TensorType x = Call::operand(OperandNumber);
  static constexpr long channels = x[1], spatial = x.span(2, x.rank);
  TENON_DEVICE static constexpr long samples(long n) {
    constexpr TensorType batch = Call::operand(OperandNumber);
    return batch.size(0, n);
  }
  // Sums of these keep the order of backend/cpu/nchw16n/layout.hpp, in both layouts.
  static constexpr bool images = is_image(x);
  static constexpr ImageBatch batch(long n, bool blocks) { return {samples(n), channels, spatial, blocks}; }
};
// The units of work of an operator that goes through planes in NCHW16n.
template <class Call>
constexpr KernelWork plane_nchw16n_work(long n) {
  const long plane = ChannelLayout<Call>::spatial * block_samples;
  return {whole_blocks(n) / block_samples * ChannelLayout<Call>::channels, plane, 0};
}
// Sums over a batch per channel: the units of work are channels.
template <class Call>
constexpr KernelWork channel_nchw16n_work(long n) {
  return {ChannelLayout<Call>::channels, whole_blocks(n) * ChannelLayout<Call>::spatial / 4 + 1, 0};
}
// Elements that several passes go through while they are in the first cache.
inline constexpr long norm_piece = 2048;
}  // namespace kernel

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::BatchNormStatistics> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  template <class Call>
  static constexpr long items(long) {
    return Call::result[1];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / Call::result[1] * 2 + 1;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::channel_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, false);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, true);
  }

 private:
  template <class Call>
  static void fill(const Arguments& a, long begin, long end, bool in_nchw16n) {
    using Layout = kernel::ChannelLayout<Call>;
    using A = typename Call::Result;
    using Row = typename Call::Op::Row;
    const long elements = Layout::samples(a.n) * Layout::spatial;
    const auto row = [result = a.result<A>()](int r) { return result + r * Layout::channels; };
    A *const mean = row(Row::mean), *const variance = row(Row::variance), *const unbiased = row(Row::unbiased_variance);
    if constexpr (Call::operands > 1) {
      if (*a.operand<float>(3) != 0) {  // frozen
        for (long c = begin; c < end; ++c)
          mean[c] = a.operand<A>(1)[c], variance[c] = a.operand<A>(2)[c], unbiased[c] = A(-1);
        return;
      }
    }
    if constexpr (Layout::images)
      kernel::image_statistics(Layout::batch(a.n, in_nchw16n), a.operand<float>(0), mean, variance, begin, end);
    else
      for (long first = begin; first < end; first += kernel::column_block)
        statistics<Call>(a, first, end - first < kernel::column_block ? end - first : kernel::column_block,
                         mean + first, variance + first);
    for (long c = begin; c < end; ++c) {
      unbiased[c] = variance[c] / static_cast<A>(elements > 1 ? elements - 1 : 1);
      variance[c] = variance[c] / static_cast<A>(elements);
    }
  }
  // Means, and sums of squared deviations, of `count` channels.
  template <class Call, class A>
  static void statistics(const Arguments& a, long first, long count, A* mean, A* deviation) {
    using Layout = kernel::ChannelLayout<Call>;
    using T = typename Call::template Operand<0>;
    const long samples = Layout::samples(a.n);
    const T* const x = a.operand<T>(0) + first * Layout::spatial;
    const A elements = static_cast<A>(samples * Layout::spatial);
    if constexpr (Layout::spatial == 1) {
      A distances[kernel::column_block];
      const auto value = [x](long r, long c) { return static_cast<A>(x[r * Layout::channels + c]); };
      const auto distance = [value, mean](long r, long c) { return value(r, c) - mean[c]; };
      kernel::column_sums<A>(samples, count, {mean}, value);
      for (long c = 0; c < count; ++c) mean[c] = mean[c] / elements;
      kernel::column_sums<A>(samples, count, {distances, deviation}, distance,
                             [distance](long r, long c) { return distance(r, c) * distance(r, c); });
      for (long c = 0; c < count; ++c) {
        const auto moments = kernel::corrected_moments(mean[c], distances[c], deviation[c], elements);
        mean[c] = moments.mean, deviation[c] = moments.deviation;
      }
    } else {
      for (long c = 0; c < count; ++c) {
        kernel::LongSum<A> sum;
        kernel::LongSum<A, 2> distances;
        const T* const first_plane = x + c * Layout::spatial;
        for (long sample = 0; sample < samples; ++sample)
          sum.add({kernel::lane_sum<A>(
              Layout::spatial, [](auto value) { return static_cast<A>(value); },
              first_plane + sample * Layout::channels * Layout::spatial)});
        const A average = *sum.finish() / elements;
        for (long sample = 0; sample < samples; ++sample) {
          const auto sums = kernel::lane_sums<A>(
              Layout::spatial, [average](auto value) { return static_cast<A>(value) - average; },
              [average](auto value) {
                const A distance = static_cast<A>(value) - average;
                return distance * distance;
              },
              first_plane + sample * Layout::channels * Layout::spatial);
          distances.add({sums.first, sums.second});
        }
        const A* const total = distances.finish();
        const auto moments = kernel::corrected_moments(average, total[0], total[1], elements);
        mean[c] = moments.mean, deviation[c] = moments.deviation;
      }
    }
  }
};
TENON_EXACT_END

}  // namespace tenon
