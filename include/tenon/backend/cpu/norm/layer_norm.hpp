// Layer normalization and its gradients: rows, each by its own mean and variance.
#pragma once
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct LayerNorm;
struct LayerNormMoments;
struct LayerNormInputGrad;
struct LayerNormGammaGrad;
}  // namespace ops

namespace kernel {
/// x as rows of the elements that are normalized together; gamma is operand `GammaNumber`.
template <class Call, int GammaNumber>
struct NormRows {
  static constexpr TensorType x = Call::operand(0);
  static constexpr long width = Call::operand(GammaNumber).count(1);
  static constexpr long rows(long n) { return width > 0 ? x.count(n) / width : 0; }
  static constexpr int axes = tenon::detail::common_axes(Call::description, x.rank - Call::operand(GammaNumber).rank);
};
/// Mean and 1 / sqrt(variance + epsilon) of a row, in two passes. The second one finds what the rounded mean lacks, so
/// that equal elements have no variance.
template <class A>
struct NormMoments {
  A mean, inverse;
};
TENON_EXACT_BEGIN
template <class A, class T>
inline NormMoments<A> norm_moments(const T* x, long width, A epsilon) {
  const auto moments = kernel::row_moments<A>(x, width);
  return {moments.mean, A(1) / math::sqrt(moments.deviation / static_cast<A>(width) + epsilon)};
}
TENON_EXACT_END
/// Base of kernels that work row by row, with this many operations per element.
template <int operations>
struct PerNormRow {
  template <class Call>
  static constexpr long items(long n) {
    return NormRows<Call, 1>::rows(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return NormRows<Call, 1>::width * operations;
  }
  template <class Call>
  static constexpr int row_axes() {
    return NormRows<Call, 1>::axes;
  }
};
}  // namespace kernel

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::LayerNorm> : kernel::PerNormRow<3> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = typename Call::template Operand<1>;
    constexpr long width = kernel::NormRows<Call, 1>::width;
    const A *gamma = a.operand<A>(1), *beta = a.operand<A>(2);
    for (long row = begin; row < end; ++row) {
      const T* x = a.operand<T>(0) + row * width;
      T* y = a.result<T>() + row * width;
      const auto m = kernel::norm_moments<A>(x, width, A(Call::config().epsilon));
      kernel::map_unrolled<true, true, true>(
          y, width,
          [m](auto value, A scale, A shift) { return (static_cast<A>(value) - m.mean) * m.inverse * scale + shift; }, x,
          gamma, beta);
    }
  }
};

template <>
struct Kernel<Cpu, ops::LayerNormMoments> : kernel::PerNormRow<2> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long width = kernel::NormRows<Call, 1>::width;
    for (long row = begin; row < end; ++row) {
      const auto m = kernel::norm_moments<A>(a.operand<T>(0) + row * width, width, A(Call::config().epsilon));
      a.result<A>()[2 * row] = m.mean;
      a.result<A>()[2 * row + 1] = m.inverse;
    }
  }
};

template <>
struct Kernel<Cpu, ops::LayerNormInputGrad> : kernel::PerNormRow<3> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = typename Call::template Operand<1>;
    constexpr long width = kernel::NormRows<Call, 1>::width;
    const A* gamma = a.operand<A>(1);
    for (long row = begin; row < end; ++row) {
      const T *x = a.operand<T>(0) + row * width, *dy = a.operand<T>(3) + row * width;
      T* dx = a.result<T>() + row * width;
      const A mean = a.operand<A>(2)[2 * row], inverse = a.operand<A>(2)[2 * row + 1];
      const auto sums = kernel::lane_sums<A>(
          width, [](auto, auto slope, A scale) { return static_cast<A>(slope) * scale; },
          [mean](auto value, auto slope, A scale) {
            return static_cast<A>(slope) * scale * (static_cast<A>(value) - mean);
          },
          x, dy, gamma);
      const A average = sums.first / A(width), slope = sums.second / A(width) * inverse * inverse;
      kernel::map_unrolled<true, true, true>(
          dx, width,
          [=](auto value, auto gradient, A scale) {
            return inverse * (static_cast<A>(gradient) * scale - average - (static_cast<A>(value) - mean) * slope);
          },
          x, dy, gamma);
    }
  }
};

template <>
struct Kernel<Cpu, ops::LayerNormGammaGrad> {
  template <class Call>
  static constexpr long items(long) {
    return Call::result.count(1);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return kernel::NormRows<Call, 1>::rows(n) + 1;
  }
  template <class Call>
  static constexpr int row_axes() {
    return kernel::NormRows<Call, 1>::axes;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long width = kernel::NormRows<Call, 1>::width;
    const long rows = kernel::NormRows<Call, 1>::rows(a.n);
    const T *x = a.operand<T>(0), *dy = a.operand<T>(3);
    const A* moments = a.operand<A>(2);
    for (long first = begin; first < end; first += kernel::column_block) {
      const long count = end - first < kernel::column_block ? end - first : kernel::column_block;
      kernel::column_sums<A>(rows, count, {a.result<A>() + first}, [=](long r, long c) {
        const A g = static_cast<A>(dy[r * width + first + c]);
        if constexpr (Call::config().beta) return g;
        else return g * ((static_cast<A>(x[r * width + first + c]) - moments[2 * r]) * moments[2 * r + 1]);
      });
    }
  }
};
TENON_EXACT_END

}  // namespace tenon
