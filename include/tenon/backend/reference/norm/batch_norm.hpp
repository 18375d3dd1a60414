// Batch normalization: the statistics of a batch, and what is computed with it, channel by channel in double.
#pragma once
#include <cmath>

#include <tenon/backend/reference/rows.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct BatchNormStatistics;
struct BatchNorm;
struct BatchNormSums;
struct BatchNormInputGrad;
struct UpdateMoving;
struct BatchNormScale;
}  // namespace ops

namespace kernel::reference {
/// The elements of a batch [n, C] or [n, C, H, W], operand 0, by their channel.
template <class Call>
struct Channels {
  static constexpr TensorType type = Call::operand(0);
  static constexpr long channels = type[1], spatial = type.span(2, type.rank);
  static constexpr long per_channel(long n) { return type.count(n) / channels; }
  static constexpr long channel_of(long i) { return i / spatial % channels; }
  /// The number of element k of a channel.
  static constexpr long place(long c, long k) { return (k / spatial * channels + c) * spatial + k % spatial; }
};
/// What the statistics, operand 1, say of channel c.
template <class Call>
struct ChannelNorm {
  using P = typename Call::template Operand<1>;
  using Row = typename Call::Op::Row;
  double mean, deviation;
  bool frozen;

  ChannelNorm(const Arguments& a, long c) {
    const auto at = [&](int row) { return static_cast<double>(a.operand<P>(1)[row * Channels<Call>::channels + c]); };
    mean = at(Row::mean), deviation = std::sqrt(at(Row::variance) + static_cast<double>(Call::config().epsilon));
    frozen = at(Row::unbiased_variance) < 0;
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::BatchNormStatistics> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Channels<Call>;
    using T = typename Call::template Operand<0>;
    using P = typename Call::Result;
    using Row = typename Call::Op::Row;
    const long count = Of::per_channel(a.n);
    for (long c = 0; c < Of::channels; ++c) {
      const auto moments = kernel::reference::moments_of(
          count, [&](long k) { return static_cast<double>(a.operand<T>(0)[Of::place(c, k)]); });
      const auto at = [&](int row) -> P& { return a.result<P>()[row * Of::channels + c]; };
      at(Row::mean) = static_cast<P>(moments.mean);
      at(Row::variance) = static_cast<P>(moments.variance);
      at(Row::unbiased_variance) = static_cast<P>(moments.variance * double(count) / double(count - 1));
      if constexpr (Call::operands > 1)
        if (*a.operand<float>(3) != 0)  // frozen
          at(Row::mean) = a.operand<P>(1)[c], at(Row::variance) = a.operand<P>(2)[c],
          at(Row::unbiased_variance) = P(-1);
    }
  }
};

template <>
struct Kernel<Reference, ops::BatchNorm> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long c = kernel::reference::Channels<Call>::channel_of(i);
      const kernel::reference::ChannelNorm<Call> of(a, c);
      const double x = static_cast<double>(a.operand<T>(0)[i]), gamma = a.operand<P>(2)[c], beta = a.operand<P>(3)[c];
      a.result<T>()[i] = static_cast<T>((x - of.mean) / of.deviation * gamma + beta);
    }
  }
};

/// Sums of dy xhat and of dy.
template <>
struct Kernel<Reference, ops::BatchNormSums> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Channels<Call>;
    using T = typename Call::template Operand<0>;
    using P = typename Call::Result;
    for (long c = 0; c < Of::channels; ++c) {
      const kernel::reference::ChannelNorm<Call> of(a, c);
      double to_gamma = 0, to_beta = 0;
      for (long k = 0; k < Of::per_channel(a.n); ++k) {
        const double x = static_cast<double>(a.operand<T>(0)[Of::place(c, k)]),
                     dy = static_cast<double>(a.operand<T>(2)[Of::place(c, k)]);
        to_gamma += dy * (x - of.mean) / of.deviation, to_beta += dy;
      }
      a.result<P>()[c] = static_cast<P>(to_gamma);
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[c] = static_cast<P>(to_beta);
    }
  }
};

/// gamma / deviation (dy - mean(dy) - xhat mean(dy xhat)), where the sums of the means are operands 5 and 4.
template <>
struct Kernel<Reference, ops::BatchNormInputGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Channels<Call>;
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long c = Of::channel_of(i);
      const kernel::reference::ChannelNorm<Call> of(a, c);
      const double share = of.frozen ? 0 : 1 / double(Of::per_channel(a.n)), mean_dy = a.operand<P>(5)[c] * share,
                   mean_dy_xhat = a.operand<P>(4)[c] * share, gamma = a.operand<P>(3)[c],
                   xhat = (static_cast<double>(a.operand<T>(0)[i]) - of.mean) / of.deviation,
                   dy = static_cast<double>(a.operand<T>(2)[i]);
      a.result<T>()[i] = static_cast<T>(gamma / of.deviation * (dy - mean_dy - xhat * mean_dy_xhat));
    }
  }
};

/// moving = momentum moving + (1 - momentum) row of the statistics
template <>
struct Kernel<Reference, ops::UpdateMoving> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const double momentum = static_cast<double>(Call::config().momentum);
    for (long c = 0; c < Call::result[0]; ++c) {
      const double moving = a.changed<T>(0)[c], batch = a.operand<T>(1)[Call::config().row * Call::result[0] + c];
      if (!(a.operand<T>(1)[Call::Op::Row::unbiased_variance * Call::result[0] + c] < 0))
        a.changed<T>(0)[c] = static_cast<T>(momentum * moving + (1 - momentum) * batch);
    }
  }
};

template <>
struct Kernel<Reference, ops::BatchNormScale> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long c = 0; c < Call::result[0]; ++c) {
      const double gamma = a.operand<T>(0)[c], variance = a.operand<T>(1)[c];
      a.result<T>()[c] = static_cast<T>(gamma / std::sqrt(variance + static_cast<double>(Call::config().epsilon)));
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
