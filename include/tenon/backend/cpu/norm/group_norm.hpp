// Group normalization and its gradients: groups of channels of a sample, and their channels.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/norm/layer_norm.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct GroupNorm;
struct GroupNormMoments;
struct GroupNormSums;
struct GroupNormInputGrad;
}  // namespace ops

namespace kernel {
/// x, operand 0, as samples of groups of channels. A plane is a channel of a sample.
template <class Call>
struct GroupLayout {
  static constexpr TensorType x = Call::operand(0);
  static constexpr long channels = x[1], spatial = x.span(2, x.rank), groups = Call::config().groups,
                        together = channels / groups, size = together * spatial;
  TENON_DEVICE static constexpr long samples(long n) {
    constexpr TensorType type = Call::operand(0);
    return type.size(0, n);
  }
};
/// What the elements of a plane have in common. Moments: the number of the operand that has them.
template <class Call, int Moments>
struct GroupPlane {
  using Layout = GroupLayout<Call>;
  using A = typename Call::template Operand<Moments>;
  long channel, sample, group;
  A mean, inverse;

  TENON_DEVICE GroupPlane(const Arguments& a, long plane)
      : channel(plane % Layout::channels), sample(plane / Layout::channels), group(channel / Layout::together) {
    const A* const moments = a.operand<A>(Moments) + 2 * (sample * Layout::groups + group);
    mean = moments[0], inverse = moments[1];
  }
};
/// y of x in a plane.
template <class Call>
struct GroupNormTerms {
  using A = typename Call::template Operand<1>;
  long channel;
  A mean, scale, shift;

  TENON_DEVICE GroupNormTerms(const Arguments& a, long plane) {
    const GroupPlane<Call, 3> of(a, plane);
    channel = of.channel, mean = of.mean;
    scale = of.inverse * a.operand<A>(1)[channel], shift = a.operand<A>(2)[channel];
  }
  TENON_DEVICE A operator()(auto x) const { return (static_cast<A>(x) - mean) * scale + shift; }
};
/// dx of x and dy in a plane.
template <class Call>
struct GroupGradientTerms {
  using A = typename Call::template Operand<1>;
  long channel;
  A mean, inverse, gamma, average, slope;

  TENON_DEVICE GroupGradientTerms(const Arguments& a, long plane) {
    using Layout = GroupLayout<Call>;
    const GroupPlane<Call, 2> of(a, plane);
    const A* const sums = a.operand<A>(3) + 2 * of.sample * Layout::groups + of.group;
    channel = of.channel, mean = of.mean, inverse = of.inverse, gamma = a.operand<A>(1)[channel];
    average = sums[0] / A(Layout::size), slope = sums[Layout::groups] / A(Layout::size) * inverse;
  }
  TENON_DEVICE A operator()(auto x, auto dy) const {
    return inverse * (static_cast<A>(dy) * gamma - average - (static_cast<A>(x) - mean) * slope);
  }
};
/// Base of kernels that work plane by plane, with this many operations per element.
template <int operations>
struct PerGroupPlane {
  template <class Call>
  static constexpr long items(long n) {
    return GroupLayout<Call>::samples(n) * GroupLayout<Call>::channels;
  }
  template <class Call>
  static constexpr long cost(long) {
    return GroupLayout<Call>::spatial * operations + operations;
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::GroupNormMoments> {
  template <class Call>
  static constexpr long items(long n) {
    return kernel::GroupLayout<Call>::samples(n) * kernel::GroupLayout<Call>::groups;
  }
  template <class Call>
  static constexpr long cost(long) {
    return kernel::GroupLayout<Call>::size * 2;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long size = kernel::GroupLayout<Call>::size;
    for (long row = begin; row < end; ++row) {
      const auto m = kernel::norm_moments<A>(a.operand<T>(0) + row * size, size, A(Call::config().epsilon));
      a.result<A>()[2 * row] = m.mean;
      a.result<A>()[2 * row + 1] = m.inverse;
    }
  }
};

template <>
struct Kernel<Cpu, ops::GroupNorm> : kernel::PerGroupPlane<1> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .cheap = true};
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long size = kernel::GroupLayout<Call>::spatial;
    for (long plane = begin; plane < end; ++plane) {
      const kernel::GroupNormTerms<Call> terms(a, plane);
      kernel::map_unrolled<true>(a.result<T>() + plane * size, size, terms, a.operand<T>(0) + plane * size);
      if constexpr (Call::steps > 0) kernel::apply_steps<Call, false>(a, plane * size, size, terms.channel);
    }
  }
};

template <>
struct Kernel<Cpu, ops::GroupNormSums> : kernel::PerGroupPlane<2> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Layout = kernel::GroupLayout<Call>;
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    for (long plane = begin; plane < end; ++plane) {
      const kernel::GroupPlane<Call, 1> of(a, plane);
      const auto sums = kernel::lane_sums<A>(
          Layout::spatial, [](auto, auto dy) { return static_cast<A>(dy); },
          [mean = of.mean, inverse = of.inverse](auto x, auto dy) {
            return static_cast<A>(dy) * ((static_cast<A>(x) - mean) * inverse);
          },
          a.operand<T>(0) + plane * Layout::spatial, a.operand<T>(2) + plane * Layout::spatial);
      A* const to = a.result<A>() + 2 * of.sample * Layout::channels + of.channel;
      to[0] = sums.first, to[Layout::channels] = sums.second;
    }
  }
};

template <>
struct Kernel<Cpu, ops::GroupNormInputGrad> : kernel::PerGroupPlane<2> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long size = kernel::GroupLayout<Call>::spatial;
    for (long plane = begin; plane < end; ++plane)
      kernel::map_unrolled<true, true>(a.result<T>() + plane * size, size, kernel::GroupGradientTerms<Call>(a, plane),
                                       a.operand<T>(0) + plane * size, a.operand<T>(4) + plane * size);
  }
};

}  // namespace tenon
TENON_EXACT_END
