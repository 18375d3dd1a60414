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
  /// Channels of one element are walked together, a group at a time; others one by one.
  static constexpr long walk = spatial == 1 ? together : 1, elements = walk * spatial;
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
  A mean, inverse, scale, shift;

  TENON_DEVICE GroupNormTerms(const Arguments& a, long plane) {
    const GroupPlane<Call, 3> of(a, plane);
    channel = of.channel, mean = of.mean, inverse = of.inverse;
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
  TENON_DEVICE A operator()(auto x, auto dy) const { return with(gamma, x, dy); }
  [[gnu::always_inline]] TENON_DEVICE A with(A own, auto x, auto dy) const {
    return inverse * (static_cast<A>(dy) * own - average - (static_cast<A>(x) - mean) * slope);
  }
};
/// Base of kernels that work plane by plane, or group by group, with this many operations per element.
template <int operations>
struct PerGroupPlane {
  template <class Call>
  static constexpr long items(long n) {
    return GroupLayout<Call>::samples(n) * GroupLayout<Call>::channels / GroupLayout<Call>::walk;
  }
  template <class Call>
  static constexpr long cost(long) {
    return GroupLayout<Call>::elements * operations + operations;
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
    using A = typename Call::template Operand<1>;
    using Layout = kernel::GroupLayout<Call>;
    constexpr long size = Layout::elements;
    for (long item = begin; item < end; ++item) {
      const kernel::GroupNormTerms<Call> terms(a, item * Layout::walk);
      const T* const x = a.operand<T>(0) + item * size;
      if constexpr (Layout::walk == 1) kernel::map_unrolled<true>(a.result<T>() + item * size, size, terms, x);
      else
        kernel::map_unrolled<true, true, true>(
            a.result<T>() + item * size, size,
            [terms](auto value, A gamma, A beta) __attribute__((always_inline)) {
              return (static_cast<A>(value) - terms.mean) * (terms.inverse * gamma) + beta;
            },
            x, a.operand<A>(1) + terms.channel, a.operand<A>(2) + terms.channel);
      if constexpr (Call::steps > 0) kernel::apply_steps<Call, (Layout::walk > 1)>(a, item * size, size, terms.channel);
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
    for (long item = begin; item < end; ++item) {
      const kernel::GroupPlane<Call, 1> of(a, item * Layout::walk);
      const T *const x = a.operand<T>(0) + item * Layout::elements, *const dy =
                                                                        a.operand<T>(2) + item * Layout::elements;
      A* const to = a.result<A>() + 2 * of.sample * Layout::channels + of.channel;
      const auto first = [](auto, auto g) __attribute__((always_inline)) { return static_cast<A>(g); };
      const auto second = [mean = of.mean, inverse = of.inverse](auto value, auto g) __attribute__((always_inline)) {
        return static_cast<A>(g) * ((static_cast<A>(value) - mean) * inverse);
      };
      if constexpr (Layout::walk == 1) {
        const auto sums = kernel::lane_sums<A>(Layout::spatial, first, second, x, dy);
        to[0] = sums.first, to[Layout::channels] = sums.second;
      } else {  // sums of one element, which begin with 0
        kernel::map_unrolled<true, true>(
            to, Layout::walk, [=](auto v, auto g) __attribute__((always_inline)) { return A(0) + first(v, g); }, x, dy);
        kernel::map_unrolled<true, true>(
            to + Layout::channels, Layout::walk,
            [=](auto v, auto g) __attribute__((always_inline)) { return A(0) + second(v, g); }, x, dy);
      }
    }
  }
};

template <>
struct Kernel<Cpu, ops::GroupNormInputGrad> : kernel::PerGroupPlane<2> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = typename Call::template Operand<1>;
    using Layout = kernel::GroupLayout<Call>;
    constexpr long size = Layout::elements;
    for (long item = begin; item < end; ++item) {
      const kernel::GroupGradientTerms<Call> terms(a, item * Layout::walk);
      T* const dx = a.result<T>() + item * size;
      const T *const x = a.operand<T>(0) + item * size, *const dy = a.operand<T>(4) + item * size;
      if constexpr (Layout::walk == 1) kernel::map_unrolled<true, true>(dx, size, terms, x, dy);
      else
        kernel::map_unrolled<true, true, true>(
            dx, size,
            [terms](auto value, auto g, A gamma) __attribute__((always_inline)) { return terms.with(gamma, value, g); },
            x, dy, a.operand<A>(1) + terms.channel);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
