// Batch normalization: what the statistics of a batch do to it, and its gradients.
#pragma once
#include <tenon/ops/batch_norm_table.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
namespace detail {
// What a table says of its channels.
template <class A>
struct Normalization {
  const A *mean, *variance, *gamma, *beta;
  A epsilon;
  Normalization(const A* table, long channels, A added)
      : mean(table + BatchNormTableRow::mean * channels),
        variance(table + BatchNormTableRow::variance * channels),
        gamma(table + BatchNormTableRow::gamma * channels),
        beta(table + BatchNormTableRow::beta * channels),
        epsilon(added) {}
  A deviation(long c) const { return kernel::sqrt(variance[c] + epsilon); }
  A scale(long c) const { return gamma[c] / deviation(c); }
};
}  // namespace detail

/// Normalizes a batch by the table of its own statistics:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [n, C, H, W] or [n, C]; table: BatchNormTable of x
/// result      shape and dtype of x
/// derivative  to x through itself and its statistics, to the table's gamma and beta
/// source      Ioffe and Szegedy, arXiv 1502.03167; MindSpore's BatchNorm in training
struct BatchNorm : Operator<BatchNorm, "BatchNorm"> {
  using Config = BatchNormAttributes;
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
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
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::plane_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
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
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
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
    const A* const table = a.operand<A>(1);
    const A *const mean = table + BatchNormTableRow::mean * Layout::channels, *const variance =
                                                                                  table + BatchNormTableRow::variance *
                                                                                              Layout::channels;
    const auto row = [result = a.result<A>()](int r) { return result + r * Layout::channels; };
    A *const to_gamma = row(BatchNormTableRow::gamma), *const to_beta = row(BatchNormTableRow::beta);
    if constexpr (Layout::images)
      kernel::image_gradient_sums(Layout::batch(a.n, in_nchw16n), a.operand<float>(0), a.operand<float>(2), mean,
                                  to_beta, to_gamma, begin, end);
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
  static constexpr Nchw16n nchw16n = Nchw16n::follows;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return BatchNorm::items<Call>(n);
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::plane_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
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
        if constexpr (Call::steps > 0) kernel::apply_steps<Call, true>(a, row * channels + first, count, first);
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
      kernel::map_unrolled<true>(
          a.result<T>() + at, count, [=](auto x) { return (static_cast<A>(x) - average) * scale + shift; },
          a.operand<T>(0) + at);
      if constexpr (Call::steps > 0) kernel::apply_steps<Call, false>(a, at, count, c);
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
    kernel::map_unrolled<true, true>(a.result<T>() + plane * size, size,
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
