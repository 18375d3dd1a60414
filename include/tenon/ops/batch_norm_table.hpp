// Batch normalization: statistics of a batch per channel, as a table.
#pragma once
#include <tenon/kernel/cpu/elementwise/fused.hpp>
#include <tenon/kernel/cpu/elementwise/math.hpp>
#include <tenon/kernel/cpu/nchw16n/batch_norm.hpp>
#include <tenon/kernel/cpu/reduce/accumulation_order.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings: `rank` is 2 for rows [n,C] or 4 for images [n,C,H,W].
struct BatchNormAttributes {
  float epsilon = 1e-5f;
  int rank = 4;
};
/// Rows of the table that the operators below share, each of C numbers.
struct BatchNormTableRow {
  enum Row : int { mean, variance, gamma, beta, unbiased_variance, rows };
};

/// A row of a [rows, C] table. Not for users.
struct TableRow : Operator<TableRow, "TableRow"> {
  struct Config {
    int row = 0;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return {{in[0][1]}, 1, in[0].dtype};
  }
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long c = begin; c < end; ++c) a.result<T>()[c] = a.operand<T>(0)[Call::config().row * Call::result[0] + c];
  }
};

namespace detail {
/// A batch [n, C, H, W] or [n, C] as its kernels see it: rows of channels, each a plane of `spatial` elements.
template <class Call, int OperandNumber = 0>
struct ChannelLayout {
  static constexpr TensorType x = Call::operand(OperandNumber);
  static constexpr long channels = x[1], spatial = x.span(2, x.rank);
  static constexpr long samples(long n) { return x.size(0, n); }
  // Sums of these keep the order of kernel/cpu/nchw16n/layout.hpp, in both layouts.
  static constexpr bool images = is_image(x);
  static constexpr kernel::ImageBatch batch(long n, bool blocks) { return {samples(n), channels, spatial, blocks}; }
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
}  // namespace detail

TENON_EXACT_BEGIN
/// Statistics of a batch beside gamma and beta, as one table of five rows. Not for users.
///
/// x           [n, C, H, W] or [n, C]; floating-point. Throws ValueError if a channel has one value only
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// result      [5, C]: mean, biased variance, gamma, beta, unbiased variance
/// derivative  to gamma and beta; what x contributes through its statistics is part of BatchNorm's derivative
/// order       two passes: mean, then deviations and what the rounded mean lacks. Float32 images with an n: as in
///             kernel/cpu/nchw16n/layout.hpp. Other images: each plane in 16 lanes, planes in order of samples, both in
///             chains and trees as rows [n,C] are (kernel/cpu/reduce/sum_tree.hpp)
struct BatchNormTable : Operator<BatchNormTable, "BatchNormTable"> {
  static constexpr bool float_parameters = true;
  using Config = BatchNormAttributes;
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1];
    const char* const name = c.rank == 2 ? "BatchNorm1d" : "BatchNorm2d";
    const Dtype wanted = x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    if (x.rank != c.rank)
      error << name << " needs an input " << (c.rank == 2 ? "[n,C]" : "[n,C,H,W]") << " of rank " << c.rank << ", got "
            << x;
    else if (!is_floating(x.dtype))
      error << name << " needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (x[1] != gamma[0])
      error << name << " got an input of " << x[1] << " channels " << x << ", its gamma " << gamma << " needs "
            << gamma[0];
    else if (gamma.dtype != wanted || in[2].dtype != wanted)
      error << name << " of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(wanted) << ", got "
            << tenon::name(gamma.dtype);
    else if (!x.batched() && x.count(1) == x[1])
      error << name << " in training needs more than 1 value per channel, got " << x;
    return {{BatchNormTableRow::rows, gamma[0]}, 2, gamma.dtype};
  }
  static constexpr LeastBatch least_batch(const OperandTypes& in) {
    const TensorType& x = in[0];
    return {x.batched() && x.count(1) == x[1] ? 2 : 1,
            x.rank == 2 ? "BatchNorm1d in training" : "BatchNorm2d in training", "more than 1 value per channel"};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call_with<TableRow>({BatchNormTableRow::gamma}, d.gradient()));
    d.flows_to(2, d.call_with<TableRow>({BatchNormTableRow::beta}, d.gradient()));
  }
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
    return detail::channel_nchw16n_work<Call>(n);
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
    using Layout = detail::ChannelLayout<Call>;
    using A = typename Call::Result;
    const long elements = Layout::samples(a.n) * Layout::spatial;
    const auto row = [table = a.result<A>()](int r) { return table + r * Layout::channels; };
    A *const mean = row(BatchNormTableRow::mean), *const variance = row(BatchNormTableRow::variance);
    if constexpr (Layout::images)
      kernel::image_statistics(Layout::batch(a.n, in_nchw16n), a.operand<float>(0), mean, variance, begin, end);
    else
      for (long first = begin; first < end; first += kernel::column_block)
        statistics<Call>(a, first, end - first < kernel::column_block ? end - first : kernel::column_block,
                         mean + first, variance + first);
    for (long c = begin; c < end; ++c) {
      row(BatchNormTableRow::unbiased_variance)[c] = variance[c] / static_cast<A>(elements > 1 ? elements - 1 : 1);
      variance[c] = variance[c] / static_cast<A>(elements);
      row(BatchNormTableRow::gamma)[c] = a.operand<A>(1)[c];
      row(BatchNormTableRow::beta)[c] = a.operand<A>(2)[c];
    }
  }
  // Means, and sums of squared deviations, of `count` channels.
  template <class Call, class A>
  static void statistics(const Arguments& a, long first, long count, A* mean, A* deviation) {
    using Layout = detail::ChannelLayout<Call>;
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

}  // namespace tenon::ops
