// Group normalization and its gradients: groups of channels of a sample, in double.
#pragma once
#include <cmath>

#include <tenon/backend/reference/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct GroupNorm;
struct GroupNormMoments;
struct GroupNormSums;
struct GroupNormInputGrad;
}  // namespace ops

namespace kernel::reference {
/// x, operand 0, as samples of groups of channels, and where an element is in it.
template <class Call>
struct Groups {
  static constexpr TensorType x = Call::operand(0);
  static constexpr long channels = x[1], spatial = x.span(2, x.rank), groups = Call::config().groups,
                        size = channels / groups * spatial;
  static constexpr long channel_of(long i) { return i / spatial % channels; }
  static constexpr long sample_of(long i) { return i / spatial / channels; }
  static constexpr long row_of(long i) { return i / size; }
};
/// Mean and 1 / sqrt(variance + epsilon), from operand `number`, of a row.
template <class Call, int number>
struct GroupMoments {
  double mean, inverse;
  GroupMoments(const Arguments& a, long row) {
    const auto* const moments = a.operand<typename Call::template Operand<number>>(number) + 2 * row;
    mean = moments[0], inverse = moments[1];
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::GroupNormMoments> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::template Operand<0>;
    using P = typename Call::Result;
    constexpr long size = kernel::reference::Groups<Call>::size;
    for (long row = 0; row < Call::result.count(a.n) / 2; ++row) {
      const T* const x = a.operand<T>(0) + row * size;
      const auto of = kernel::reference::moments_of(size, [&](long i) { return static_cast<double>(x[i]); });
      const double epsilon = static_cast<double>(Call::config().epsilon);
      a.result<P>()[2 * row] = static_cast<P>(of.mean);
      a.result<P>()[2 * row + 1] = static_cast<P>(1 / std::sqrt(of.variance + epsilon));
    }
  }
};

template <>
struct Kernel<Reference, ops::GroupNorm> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Groups<Call>;
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const kernel::reference::GroupMoments<Call, 3> of(a, Of::row_of(i));
      const double x = static_cast<double>(a.operand<T>(0)[i]), gamma = a.operand<P>(1)[Of::channel_of(i)],
                   beta = a.operand<P>(2)[Of::channel_of(i)];
      a.result<T>()[i] = static_cast<T>((x - of.mean) * of.inverse * gamma + beta);
    }
  }
};

/// Sums of dy and of dy xhat.
template <>
struct Kernel<Reference, ops::GroupNormSums> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Groups<Call>;
    using T = typename Call::template Operand<0>;
    using P = typename Call::Result;
    for (long plane = 0; plane < Call::result.count(a.n) / 2; ++plane) {
      const T *const x = a.operand<T>(0) + plane * Of::spatial, *const dy = a.operand<T>(2) + plane * Of::spatial;
      const long sample = plane / Of::channels, channel = plane % Of::channels;
      const kernel::reference::GroupMoments<Call, 1> of(a, plane / (Of::channels / Of::groups));
      P* const to = a.result<P>() + 2 * sample * Of::channels + channel;
      to[0] =
          static_cast<P>(kernel::reference::sum_of(Of::spatial, [&](long i) { return static_cast<double>(dy[i]); }));
      to[Of::channels] = static_cast<P>(kernel::reference::sum_of(Of::spatial, [&](long i) {
        return static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - of.mean) * of.inverse;
      }));
    }
  }
};

/// inverse (h - mean(h) - xhat mean(h xhat)) with h = dy gamma, where the sums of the means are operand 3.
template <>
struct Kernel<Reference, ops::GroupNormInputGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Of = kernel::reference::Groups<Call>;
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long row = Of::row_of(i);
      const kernel::reference::GroupMoments<Call, 2> of(a, row);
      const P* const sums = a.operand<P>(3) + 2 * Of::sample_of(i) * Of::groups + row % Of::groups;
      const double mean_h = double(sums[0]) / double(Of::size),
                   mean_h_xhat = double(sums[Of::groups]) / double(Of::size),
                   xhat = (static_cast<double>(a.operand<T>(0)[i]) - of.mean) * of.inverse,
                   gamma = a.operand<P>(1)[Of::channel_of(i)], dy = static_cast<double>(a.operand<T>(4)[i]);
      a.result<T>()[i] = static_cast<T>(of.inverse * (dy * gamma - mean_h - xhat * mean_h_xhat));
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
