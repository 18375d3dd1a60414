// Batch normalization: statistics of a batch per channel, and what they do to it.
#pragma once
#include <tenon/kernel/cpu/block_batch_norm.hpp>
#include <tenon/kernel/cpu/lanes.hpp>
#include <tenon/kernel/cpu/math.hpp>
#include <tenon/kernel/cpu/steps.hpp>
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
  // Sums of these keep the order of kernel/cpu/sample_blocks.hpp, in blocks or not.
  static constexpr bool images = is_image(x);
  static constexpr kernel::ImageBatch batch(long n, bool blocks) { return {samples(n), channels, spatial, blocks}; }
};
// The units of work of an operator that goes through planes in blocks of samples.
template <class Call>
constexpr KernelWork plane_block_work(long n) {
  const long plane = ChannelLayout<Call>::spatial * block_samples;
  return {whole_blocks(n) / block_samples * ChannelLayout<Call>::channels, plane, 0};
}
// Sums over a batch per channel: the units of work are channels.
template <class Call>
constexpr KernelWork channel_block_work(long n) {
  return {ChannelLayout<Call>::channels, whole_blocks(n) * ChannelLayout<Call>::spatial / 4 + 1, 0};
}
// Elements that several passes go through while they are in the first cache.
inline constexpr long norm_piece = 2048;
}  // namespace detail

TENON_EXACT_BEGIN
namespace detail {
// What a table says of its channels.
template <class A>
struct Normalization {
  const A *mean, *variance, *gamma, *beta;
  A epsilon;
  Normalization(const A* table, long channels, A epsilon)
      : mean(table + BatchNormTableRow::mean * channels),
        variance(table + BatchNormTableRow::variance * channels),
        gamma(table + BatchNormTableRow::gamma * channels),
        beta(table + BatchNormTableRow::beta * channels),
        epsilon(epsilon) {}
  A deviation(long c) const { return kernel::sqrt(variance[c] + epsilon); }
  A scale(long c) const { return gamma[c] / deviation(c); }
};
}  // namespace detail

/// Statistics of a batch beside gamma and beta, as one table of five rows. Not for users.
///
/// x           [n, C, H, W] or [n, C]; floating-point. Throws ValueError if a channel has one value only
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// result      [5, C]: mean, biased variance, gamma, beta, unbiased variance
/// derivative  to gamma and beta; what x contributes through its statistics is part of BatchNorm's derivative
/// order       two passes: mean, then deviations and what the rounded mean lacks. Float32 images with an n: as in
///             kernel/cpu/sample_blocks.hpp. Other images: each plane in 16 lanes, planes in order of samples, both in
///             chains and trees as rows [n,C] are (kernel/cpu/sum_tree.hpp)
struct BatchNormTable : Operator<BatchNormTable, "BatchNormTable"> {
  static constexpr bool float_parameters = true;
  using Config = BatchNormAttributes;
  static constexpr InBlocks blocks = InBlocks::follows;
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
  static constexpr KernelWork block_work(long n) {
    return detail::channel_block_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, false);
  }
  template <class Call>
  static void run_blocks(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, true);
  }

 private:
  template <class Call>
  static void fill(const Arguments& a, long begin, long end, bool blocks) {
    using Layout = detail::ChannelLayout<Call>;
    using A = typename Call::Result;
    const long elements = Layout::samples(a.n) * Layout::spatial;
    const auto row = [table = a.result<A>()](int r) { return table + r * Layout::channels; };
    A *const mean = row(BatchNormTableRow::mean), *const variance = row(BatchNormTableRow::variance);
    if constexpr (Layout::images)
      kernel::image_statistics(Layout::batch(a.n, blocks), a.operand<float>(0), mean, variance, begin, end);
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

/// Normalizes a batch by the table of its own statistics:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [n, C, H, W] or [n, C]; table: BatchNormTable of x
/// result      shape and dtype of x
/// derivative  to x through itself and its statistics, to the table's gamma and beta
/// source      Ioffe and Szegedy, arXiv 1502.03167; MindSpore's BatchNorm in training
struct BatchNorm : Operator<BatchNorm, "BatchNorm"> {
  using Config = BatchNormAttributes;
  static constexpr InBlocks blocks = InBlocks::follows;
  static constexpr bool epilogue = true, cheap = true;
  static constexpr int operands_before_epilogue = 2, channel_axis = 1;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d);
  // A unit of work is a plane, or a whole row where planes have one element.
  template <class Call>
  static constexpr long items(long n) {
    using Layout = detail::ChannelLayout<Call>;
    return Layout::spatial == 1 ? Layout::samples(n) : Layout::samples(n) * Layout::channels;
  }
  template <class Call>
  static constexpr KernelWork block_work(long n) {
    return detail::plane_block_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_blocks(const Arguments& a, long begin, long end) {
    run_planes<Call>(a, begin, end, detail::ChannelLayout<Call>::spatial * block_samples);
  }

 private:
  template <class Call>
  static void run_planes(const Arguments& a, long begin, long end, long plane);
};

/// Sums for the gradients, as rows gamma and beta of a table: sum of dy xhat, and of dy. Operands: x, table, dy. Not
/// for users.
struct BatchNormSums : Operator<BatchNormSums, "BatchNormSums"> {
  using Config = BatchNormAttributes;
  static constexpr InBlocks blocks = InBlocks::follows;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
  template <class Call>
  static constexpr long items(long) {
    return Call::result[1];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / Call::result[1] * 2 + 1;
  }
  template <class Call>
  static constexpr KernelWork block_work(long n) {
    return detail::channel_block_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, false);
  }
  template <class Call>
  static void run_blocks(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, true);
  }

 private:
  template <class Call>
  static void fill(const Arguments& a, long begin, long end, bool blocks) {
    using Layout = detail::ChannelLayout<Call>;
    using A = typename Call::Result;
    const A* const table = a.operand<A>(1);
    const A *const mean = table + BatchNormTableRow::mean * Layout::channels, *const variance =
                                                                                  table + BatchNormTableRow::variance *
                                                                                              Layout::channels;
    const auto row = [result = a.result<A>()](int r) { return result + r * Layout::channels; };
    A *const to_gamma = row(BatchNormTableRow::gamma), *const to_beta = row(BatchNormTableRow::beta);
    if constexpr (Layout::images)
      kernel::image_gradient_sums(Layout::batch(a.n, blocks), a.operand<float>(0), a.operand<float>(2), mean, to_beta,
                                  to_gamma, begin, end);
    else sums<Call>(a, begin, end, mean, to_beta, to_gamma);
    for (long c = begin; c < end; ++c) {
      for (int r : {BatchNormTableRow::mean, BatchNormTableRow::variance, BatchNormTableRow::unbiased_variance})
        row(r)[c] = 0;
      to_gamma[c] = to_gamma[c] / kernel::sqrt(variance[c] + A(Call::config().epsilon));
    }
  }
  template <class Call, class A>
  static void sums(const Arguments& a, long begin, long end, const A* mean, A* to_beta, A* to_gamma) {
    using Layout = detail::ChannelLayout<Call>;
    using T = typename Call::template Operand<0>;
    const long samples = Layout::samples(a.n);
    const T *x = a.operand<T>(0), *dy = a.operand<T>(2);
    if constexpr (Layout::spatial == 1) {
      for (long first = begin; first < end; first += kernel::column_block) {
        const long count = end - first < kernel::column_block ? end - first : kernel::column_block;
        const auto gradient = [=](long r, long c) { return static_cast<A>(dy[r * Layout::channels + first + c]); };
        kernel::column_sums<A>(samples, count, {to_beta + first, to_gamma + first}, gradient, [=](long r, long c) {
          return gradient(r, c) * (static_cast<A>(x[r * Layout::channels + first + c]) - mean[first + c]);
        });
      }
    } else {
      for (long c = begin; c < end; ++c) {
        kernel::LongSum<A, 2> total;
        for (long sample = 0; sample < samples; ++sample) {
          const long plane = (sample * Layout::channels + c) * Layout::spatial;
          const auto sums = kernel::lane_sums<A>(
              Layout::spatial, [](auto, auto gradient) { return static_cast<A>(gradient); },
              [average = mean[c]](auto value, auto gradient) {
                return static_cast<A>(gradient) * (static_cast<A>(value) - average);
              },
              x + plane, dy + plane);
          total.add({sums.first, sums.second});
        }
        const A* const sums = total.finish();
        to_beta[c] = sums[0], to_gamma[c] = sums[1];
      }
    }
  }
};

/// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)). Operands: x, table, dy, sums. Not for
/// users.
struct BatchNormInputGrad : Operator<BatchNormInputGrad, "BatchNormGrad"> {
  using Config = BatchNormAttributes;
  static constexpr bool in_place = true;
  static constexpr InBlocks blocks = InBlocks::follows;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return BatchNorm::items<Call>(n);
  }
  template <class Call>
  static constexpr KernelWork block_work(long n) {
    return detail::plane_block_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_blocks(const Arguments& a, long begin, long end) {
    run_planes<Call>(a, begin, end, detail::ChannelLayout<Call>::spatial * block_samples);
  }

 private:
  template <class Call>
  struct Terms;
  template <class Call>
  static void run_planes(const Arguments& a, long begin, long end, long plane);
};

constexpr void BatchNorm::derivative(Derivative& d) {
  const Config c = d.config<BatchNorm>();
  const int sums = d.call_with<BatchNormSums>(c, d.operand(0), d.operand(1), d.gradient());
  d.flows_to(1, sums);
  d.flows_to(0, d.call_with<BatchNormInputGrad>(c, d.operand(0), d.operand(1), d.gradient(), sums));
}
template <class Call>
void BatchNorm::run(const Arguments& a, long begin, long end) {
  using Layout = detail::ChannelLayout<Call>;
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  constexpr long channels = Layout::channels;
  if constexpr (Layout::spatial == 1) {
    const detail::Normalization<A> of(a.operand<A>(1), channels, A(Call::config().epsilon));
    for (long first = 0; first < channels; first += kernel::column_block) {
      const long count = channels - first < kernel::column_block ? channels - first : kernel::column_block;
      A scale[kernel::column_block];
      for (long c = 0; c < count; ++c) scale[c] = of.scale(first + c);
      for (long row = begin; row < end; ++row) {
        const T* x = a.operand<T>(0) + row * channels + first;
        T* y = a.result<T>() + row * channels + first;
        for (long c = 0; c < count; ++c)
          y[c] = static_cast<T>((static_cast<A>(x[c]) - of.mean[first + c]) * scale[c] + of.beta[first + c]);
        if constexpr (Call::description.steps > 0)
          kernel::apply_steps<Call, true>(a, row * channels + first, count, first);
      }
    }
  } else {
    run_planes<Call>(a, begin, end, Layout::spatial);
  }
}
template <class Call>
void BatchNorm::run_planes(const Arguments& a, long begin, long end, long size) {
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  constexpr long channels = detail::ChannelLayout<Call>::channels;
  const detail::Normalization<A> of(a.operand<A>(1), channels, A(Call::config().epsilon));
  for (long plane = begin; plane < end; ++plane) {
    const long c = plane % channels;
    const A average = of.mean[c], scale = of.scale(c), shift = of.beta[c];
    for (long at = plane * size; at < (plane + 1) * size; at += detail::norm_piece) {
      const long left = (plane + 1) * size - at, count = left < detail::norm_piece ? left : detail::norm_piece;
      kernel::map_in_blocks<true>(
          a.result<T>() + at, count, [=](auto x) { return (static_cast<A>(x) - average) * scale + shift; },
          a.operand<T>(0) + at);
      if constexpr (Call::description.steps > 0) kernel::apply_steps<Call, false>(a, at, count, c);
    }
  }
}
// What the gradient of one element needs of its channel.
template <class Call>
struct BatchNormInputGrad::Terms {
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  A mean, scale, mean_dy, slope;  // slope: mean(dy xhat) / sqrt(variance + epsilon)

  Terms(const Arguments& a, long c) {
    using Layout = detail::ChannelLayout<Call>;
    const detail::Normalization<A> of(a.operand<A>(1), Layout::channels, A(Call::config().epsilon));
    const A* const sums = a.operand<A>(3);
    const A elements = static_cast<A>(Layout::samples(a.n) * Layout::spatial);
    mean = of.mean[c], scale = of.scale(c);
    mean_dy = sums[BatchNormTableRow::beta * Layout::channels + c] / elements;
    slope = sums[BatchNormTableRow::gamma * Layout::channels + c] / elements / of.deviation(c);
  }
  A operator()(auto x, auto dy) const {
    return scale * (static_cast<A>(dy) - mean_dy - (static_cast<A>(x) - mean) * slope);
  }
};
template <class Call>
void BatchNormInputGrad::run(const Arguments& a, long begin, long end) {
  using Layout = detail::ChannelLayout<Call>;
  using T = typename Call::Result;
  if constexpr (Layout::spatial == 1) {
    const T *const x = a.operand<T>(0), *const dy = a.operand<T>(2);
    for (long c = 0; c < Layout::channels; ++c) {
      const Terms<Call> element(a, c);
      for (long i = begin * Layout::channels + c; i < end * Layout::channels; i += Layout::channels)
        a.result<T>()[i] = static_cast<T>(element(x[i], dy[i]));
    }
  } else {
    run_planes<Call>(a, begin, end, Layout::spatial);
  }
}
template <class Call>
void BatchNormInputGrad::run_planes(const Arguments& a, long begin, long end, long size) {
  using T = typename Call::Result;
  for (long plane = begin; plane < end; ++plane)
    kernel::map_in_blocks<true, true>(a.result<T>() + plane * size, size,
                                      Terms<Call>(a, plane % detail::ChannelLayout<Call>::channels),
                                      a.operand<T>(0) + plane * size, a.operand<T>(2) + plane * size);
}

/// moving = momentum moving + (1 - momentum) row of the table, in place. Operands: moving, table. Not for users.
struct UpdateMoving : Operator<UpdateMoving, "UpdateMoving"> {
  struct Config {
    float momentum = 0.9f;
    int row = 0;
  };
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const T keep = T(Call::config().momentum), take = T(1) - keep;
    const T* batch = a.operand<T>(1) + Call::config().row * Call::result[0];
    for (long c = begin; c < end; ++c) a.target<T>(0)[c] = keep * a.target<T>(0)[c] + take * batch[c];
  }
};

/// gamma / sqrt(variance + epsilon) per channel, for evaluation with moving statistics. Not for users.
///
/// derivative  to gamma only: moving statistics are not trained
struct BatchNormScale : Operator<BatchNormScale, "BatchNormScale"> {
  using Config = BatchNormAttributes;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<BatchNormScale>(d.config<BatchNormScale>(), d.gradient(), d.operand(1)));
  }
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long c = begin; c < end; ++c)
      a.result<T>()[c] = a.operand<T>(0)[c] / kernel::sqrt(a.operand<T>(1)[c] + T(Call::config().epsilon));
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
