// Batch normalization: the table of a batch's statistics, and what is computed with it, channel by channel in double.
#pragma once
#include <cmath>

#include <tenon/backend/reference/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct TableRow;
struct BatchNormTable;
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
/// What a table, operand 1, says of channel c.
template <class Call>
struct ChannelNorm {
  double mean, deviation, gamma, beta;

  ChannelNorm(const Arguments& a, long c) {
    using P = typename Call::template Operand<1>;
    using Row = typename Call::Op::Row;
    const auto at = [&](int row) { return static_cast<double>(a.operand<P>(1)[row * Channels<Call>::channels + c]); };
    mean = at(Row::mean), gamma = at(Row::gamma), beta = at(Row::beta);
    deviation = std::sqrt(at(Row::variance) + static_cast<double>(Call::config().epsilon));
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::TableRow> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long c = 0; c < Call::result[0]; ++c)
      a.result<T>()[c] = a.operand<T>(0)[Call::config().row * Call::result[0] + c];
  }
};

template <>
struct Kernel<Reference, ops::BatchNormTable> : kernel::reference::Whole {
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
      at(Row::gamma) = a.operand<P>(1)[c], at(Row::beta) = a.operand<P>(2)[c];
      if constexpr (Call::operands > 3)
        if (*a.operand<float>(5) != 0)  // frozen
          at(Row::mean) = a.operand<P>(3)[c], at(Row::variance) = a.operand<P>(4)[c],
          at(Row::unbiased_variance) = P(-1);
    }
  }
};

template <>
struct Kernel<Reference, ops::BatchNorm> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const kernel::reference::ChannelNorm<Call> of(a, kernel::reference::Channels<Call>::channel_of(i));
      const double x = static_cast<double>(a.operand<T>(0)[i]);
      a.result<T>()[i] = static_cast<T>((x - of.mean) / of.deviation * of.gamma + of.beta);
    }
  }
};

/// Sums of dy xhat and of dy, in the rows gamma and beta.
template <>
struct Kernel<Reference, ops::BatchNormSums> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Channels<Call>;
    using T = typename Call::template Operand<0>;
    using P = typename Call::Result;
    using Row = typename Call::Op::Row;
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<P>()[i] = 0;
    for (long c = 0; c < Of::channels; ++c) {
      const kernel::reference::ChannelNorm<Call> of(a, c);
      double to_gamma = 0, to_beta = 0;
      for (long k = 0; k < Of::per_channel(a.n); ++k) {
        const double x = static_cast<double>(a.operand<T>(0)[Of::place(c, k)]),
                     dy = static_cast<double>(a.operand<T>(2)[Of::place(c, k)]);
        to_gamma += dy * (x - of.mean) / of.deviation, to_beta += dy;
      }
      a.result<P>()[Row::gamma * Of::channels + c] = static_cast<P>(to_gamma);
      a.result<P>()[Row::beta * Of::channels + c] = static_cast<P>(to_beta);
    }
  }
};

/// gamma / deviation (dy - mean(dy) - xhat mean(dy xhat)), where the sums of the means are operand 3.
template <>
struct Kernel<Reference, ops::BatchNormInputGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Channels<Call>;
    using T = typename Call::Result;
    using P = typename Call::template Operand<3>;
    using Row = typename Call::Op::Row;
    const double count = double(Of::per_channel(a.n));
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long c = Of::channel_of(i);
      const kernel::reference::ChannelNorm<Call> of(a, c);
      const double own = a.operand<P>(1)[Row::unbiased_variance * Of::channels + c] < 0 ? 0 : 1 / count,  // 0: frozen
          mean_dy = a.operand<P>(3)[Row::beta * Of::channels + c] * own,
                   mean_dy_xhat = a.operand<P>(3)[Row::gamma * Of::channels + c] * own,
                   xhat = (static_cast<double>(a.operand<T>(0)[i]) - of.mean) / of.deviation,
                   dy = static_cast<double>(a.operand<T>(2)[i]);
      a.result<T>()[i] = static_cast<T>(of.gamma / of.deviation * (dy - mean_dy - xhat * mean_dy_xhat));
    }
  }
};

/// moving = momentum moving + (1 - momentum) row of the table
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
