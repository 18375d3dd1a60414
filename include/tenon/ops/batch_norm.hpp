// Batch normalization: statistics of a batch per channel, and what they do to it.
#pragma once
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
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return {{in[0][1]}, 1, in[0].dtype}; }
  template <class Call> static constexpr long items(long) { return Call::result[0]; }
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
};
}  // namespace detail

TENON_EXACT_BEGIN
/// Statistics of a batch beside gamma and beta, as one table of five rows. Not for users.
///
/// x           [n, C, H, W] or [n, C]; floating-point
/// gamma, beta [C]; float32, or float64 beside a float64 x
/// result      [5, C]: mean, biased variance, gamma, beta, unbiased variance (the biased one for a single element)
/// derivative  to gamma and beta; what x contributes through its statistics is part of BatchNorm's derivative
/// order       each plane in 16 lanes, planes in order of samples; rows [n,C] in groups of 64. Two passes: mean, then deviations
struct BatchNormTable : Operator<BatchNormTable, "BatchNormTable"> {
  using Config = BatchNormAttributes;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1];
    const char* const name = c.rank == 2 ? "BatchNorm1d" : "BatchNorm2d";
    const Dtype wanted = x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    if (x.rank != c.rank) error << name << " needs an input " << (c.rank == 2 ? "[n,C]" : "[n,C,H,W]") << " of rank " << c.rank << ", got " << x;
    else if (!is_floating(x.dtype)) error << name << " needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (x[1] != gamma[0]) error << name << " got an input of " << x[1] << " channels " << x << ", its gamma " << gamma << " needs " << gamma[0];
    else if (gamma.dtype != wanted || in[2].dtype != wanted)
      error << name << " of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(wanted) << ", got " << tenon::name(gamma.dtype);
    return {{BatchNormTableRow::rows, gamma[0]}, 2, gamma.dtype};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(1, d.call_with<TableRow>({BatchNormTableRow::gamma}, d.gradient()));
    d.flows_to(2, d.call_with<TableRow>({BatchNormTableRow::beta}, d.gradient()));
  }
  template <class Call> static constexpr long items(long) { return Call::result[1]; }
  template <class Call> static constexpr long cost(long n) { return Call::operand(0).count(n) / Call::result[1] * 2 + 1; }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Layout = detail::ChannelLayout<Call>;
    using A = typename Call::Result;
    const long samples = Layout::samples(a.n), elements = samples * Layout::spatial;
    const A *gamma = a.operand<A>(1), *beta = a.operand<A>(2);
    A* const table = a.result<A>();
    for (long first = begin; first < end; first += kernel::column_block) {
      const long count = end - first < kernel::column_block ? end - first : kernel::column_block;
      A mean[kernel::column_block], variance[kernel::column_block];
      statistics<Call>(a, samples, first, count, mean, variance);
      for (long i = 0; i < count; ++i) {
        A* const at = table + first + i;
        at[BatchNormTableRow::mean * Layout::channels] = mean[i];
        at[BatchNormTableRow::variance * Layout::channels] = variance[i] / static_cast<A>(elements);
        at[BatchNormTableRow::gamma * Layout::channels] = gamma[first + i];
        at[BatchNormTableRow::beta * Layout::channels] = beta[first + i];
        at[BatchNormTableRow::unbiased_variance * Layout::channels] = variance[i] / static_cast<A>(elements > 1 ? elements - 1 : 1);
      }
    }
  }

 private:
  // Means, and sums of squared deviations, of `count` channels.
  template <class Call, class A>
  static void statistics(const Arguments& a, long samples, long first, long count, A* mean, A* deviation) {
    using Layout = detail::ChannelLayout<Call>;
    using T = typename Call::template Operand<0>;
    const T* const x = a.operand<T>(0) + first * Layout::spatial;
    const A elements = static_cast<A>(samples * Layout::spatial);
    if constexpr (Layout::spatial == 1) {
      kernel::column_sums(samples, count, mean, [x](long r, long c) { return static_cast<A>(x[r * Layout::channels + c]); });
      for (long c = 0; c < count; ++c) mean[c] = mean[c] / elements;
      kernel::column_sums(samples, count, deviation, [x, mean](long r, long c) {
        const A distance = static_cast<A>(x[r * Layout::channels + c]) - mean[c];
        return distance * distance;
      });
    } else {
      for (long c = 0; c < count; ++c) {
        A sum = 0, squares = 0;
        for (long sample = 0; sample < samples; ++sample) {
          const T* plane = x + (sample * Layout::channels + c) * Layout::spatial;
          sum += kernel::lane_sum<A>(Layout::spatial, [plane](long i) { return static_cast<A>(plane[i]); });
        }
        const A average = sum / elements;
        for (long sample = 0; sample < samples; ++sample) {
          const T* plane = x + (sample * Layout::channels + c) * Layout::spatial;
          squares += kernel::lane_sum<A>(Layout::spatial, [plane, average](long i) {
            const A distance = static_cast<A>(plane[i]) - average;
            return distance * distance;
          });
        }
        mean[c] = average;
        deviation[c] = squares;
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
  static constexpr bool epilogue = true;
  static constexpr int operands_before_epilogue = 2, channel_axis = 1;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d);
  // A unit of work is a plane, or a whole row where planes have one element.
  template <class Call>
  static constexpr long items(long n) {
    using Layout = detail::ChannelLayout<Call>;
    return Layout::spatial == 1 ? Layout::samples(n) : Layout::samples(n) * Layout::channels;
  }
  template <class Call> static void run(const Arguments& a, long begin, long end);
};

/// Sums for the gradients, as rows gamma and beta of a table: sum of dy xhat, and of dy. Operands: x, table, dy. Not for users.
struct BatchNormSums : Operator<BatchNormSums, "BatchNormSums"> {
  using Config = BatchNormAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
  template <class Call> static constexpr long items(long) { return Call::result[1]; }
  template <class Call> static constexpr long cost(long n) { return Call::operand(0).count(n) / Call::result[1] * 2 + 1; }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Layout = detail::ChannelLayout<Call>;
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    const long samples = Layout::samples(a.n);
    const T *x = a.operand<T>(0), *dy = a.operand<T>(2);
    const A* mean = a.operand<A>(1) + BatchNormTableRow::mean * Layout::channels;
    const A* variance = a.operand<A>(1) + BatchNormTableRow::variance * Layout::channels;
    A* const to_gamma = a.result<A>() + BatchNormTableRow::gamma * Layout::channels;
    A* const to_beta = a.result<A>() + BatchNormTableRow::beta * Layout::channels;
    for (long first = begin; first < end; first += kernel::column_block) {
      const long count = end - first < kernel::column_block ? end - first : kernel::column_block;
      for (int row : {BatchNormTableRow::mean, BatchNormTableRow::variance, BatchNormTableRow::unbiased_variance})
        for (long c = first; c < first + count; ++c) a.result<A>()[row * Layout::channels + c] = 0;
      if constexpr (Layout::spatial == 1) {
        kernel::column_sums(samples, count, to_beta + first, [=](long r, long c) { return static_cast<A>(dy[r * Layout::channels + first + c]); });
        kernel::column_sums(samples, count, to_gamma + first, [=](long r, long c) {
          const long at = r * Layout::channels + first + c;
          return static_cast<A>(dy[at]) * (static_cast<A>(x[at]) - mean[first + c]);
        });
      } else {
        for (long c = first; c < first + count; ++c) {
          kernel::TwoSums<A> total;
          for (long sample = 0; sample < samples; ++sample) {
            const long plane = (sample * Layout::channels + c) * Layout::spatial;
            const auto sums = kernel::lane_sums<A>(
                Layout::spatial, [=](long i) { return static_cast<A>(dy[plane + i]); },
                [=, average = mean[c]](long i) { return static_cast<A>(dy[plane + i]) * (static_cast<A>(x[plane + i]) - average); });
            total.first += sums.first;
            total.second += sums.second;
          }
          to_beta[c] = total.first;
          to_gamma[c] = total.second;
        }
      }
      for (long c = first; c < first + count; ++c) to_gamma[c] = to_gamma[c] / kernel::sqrt(variance[c] + A(Call::config().epsilon));
    }
  }
};

/// dx = gamma / sqrt(variance + epsilon) (dy - mean(dy) - xhat mean(dy xhat)). Operands: x, table, dy, sums. Not for users.
struct BatchNormInputGrad : Operator<BatchNormInputGrad, "BatchNormGrad"> {
  using Config = BatchNormAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call> static constexpr long items(long n) { return BatchNorm::items<Call>(n); }
  template <class Call> static void run(const Arguments& a, long begin, long end);
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
  constexpr long channels = Layout::channels, spatial = Layout::spatial;
  const A* const table = a.operand<A>(1);
  const A *mean = table + BatchNormTableRow::mean * channels, *beta = table + BatchNormTableRow::beta * channels;
  const auto scale_of = [table](long c) {
    return table[BatchNormTableRow::gamma * channels + c] / kernel::sqrt(table[BatchNormTableRow::variance * channels + c] + A(Call::config().epsilon));
  };
  if constexpr (spatial == 1) {
    for (long first = 0; first < channels; first += kernel::column_block) {
      const long count = channels - first < kernel::column_block ? channels - first : kernel::column_block;
      A scale[kernel::column_block];
      for (long c = 0; c < count; ++c) scale[c] = scale_of(first + c);
      for (long row = begin; row < end; ++row) {
        const T* x = a.operand<T>(0) + row * channels + first;
        T* y = a.result<T>() + row * channels + first;
        for (long c = 0; c < count; ++c) y[c] = static_cast<T>((static_cast<A>(x[c]) - mean[first + c]) * scale[c] + beta[first + c]);
        if constexpr (Call::description.steps > 0) kernel::apply_steps<Call>(a, row * channels + first, count, first, 1);
      }
    }
  } else {
    for (long plane = begin; plane < end; ++plane) {
      const long c = plane % channels;
      const A average = mean[c], scale = scale_of(c), shift = beta[c];
      const T* x = a.operand<T>(0) + plane * spatial;
      T* y = a.result<T>() + plane * spatial;
      for (long i = 0; i < spatial; ++i) y[i] = static_cast<T>((static_cast<A>(x[i]) - average) * scale + shift);
      if constexpr (Call::description.steps > 0) kernel::apply_steps<Call>(a, plane * spatial, spatial, c, 0);
    }
  }
}
template <class Call>
void BatchNormInputGrad::run(const Arguments& a, long begin, long end) {
  using Layout = detail::ChannelLayout<Call>;
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  constexpr long channels = Layout::channels, spatial = Layout::spatial;
  const A *const table = a.operand<A>(1), *const sums = a.operand<A>(3);
  const A elements = static_cast<A>(Layout::samples(a.n) * spatial);
  struct Channel {
    A mean, scale, mean_dy, slope;  // slope: mean(dy xhat) / sqrt(variance + epsilon)
  };
  const auto channel = [=](long c) {
    const A deviation = kernel::sqrt(table[BatchNormTableRow::variance * channels + c] + A(Call::config().epsilon));
    return Channel{table[BatchNormTableRow::mean * channels + c], table[BatchNormTableRow::gamma * channels + c] / deviation,
                   sums[BatchNormTableRow::beta * channels + c] / elements, sums[BatchNormTableRow::gamma * channels + c] / elements / deviation};
  };
  const auto element = [](const Channel& k, T x, T dy) {
    return static_cast<T>(k.scale * (static_cast<A>(dy) - k.mean_dy - (static_cast<A>(x) - k.mean) * k.slope));
  };
  const T *const x = a.operand<T>(0), *const dy = a.operand<T>(2);
  T* const dx = a.result<T>();
  if constexpr (spatial == 1) {
    for (long c = 0; c < channels; ++c) {
      const Channel k = channel(c);
      for (long row = begin; row < end; ++row) dx[row * channels + c] = element(k, x[row * channels + c], dy[row * channels + c]);
    }
  } else {
    for (long plane = begin; plane < end; ++plane) {
      const Channel k = channel(plane % channels);
      for (long i = plane * spatial; i < (plane + 1) * spatial; ++i) dx[i] = element(k, x[i], dy[i]);
    }
  }
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
  template <class Call> static constexpr long items(long) { return Call::result[0]; }
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
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call_with<BatchNormScale>(d.config<BatchNormScale>(), d.gradient(), d.operand(1))); }
  template <class Call> static constexpr long items(long) { return Call::result[0]; }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long c = begin; c < end; ++c) a.result<T>()[c] = a.operand<T>(0)[c] / kernel::sqrt(a.operand<T>(1)[c] + T(Call::config().epsilon));
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
