// Layer normalization: every sample by the statistics of its own last axes.
#pragma once
#include <tenon/kernel/cpu/elementwise/math.hpp>
#include <tenon/kernel/cpu/elementwise/unrolled.hpp>
#include <tenon/kernel/cpu/reduce/accumulation_order.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/sum_to.hpp>

namespace tenon::inline TENON_ABI::ops {

struct LayerNormAttributes {
  float epsilon = 1e-7f;
};

struct LayerNormMoments;
struct LayerNormInputGrad;
struct LayerNormGammaGrad;

namespace detail {
/// x as rows of the elements that are normalized together; gamma is operand `GammaNumber`.
template <class Call, int GammaNumber>
struct NormRows {
  static constexpr TensorType x = Call::operand(0);
  static constexpr long width = Call::operand(GammaNumber).count(1);
  static constexpr long rows(long n) { return x.count(n) / width; }
};
/// Mean and 1 / sqrt(variance + epsilon) of a row, in two passes. The second one finds what the rounded mean lacks, so
/// that equal elements have no variance.
template <class A>
struct RowMoments {
  A mean, inverse;
};
TENON_EXACT_BEGIN
template <class A, class T>
inline RowMoments<A> row_moments(const T* x, long width, A epsilon) {
  const auto moments = kernel::row_moments<A>(x, width);
  return {moments.mean, A(1) / kernel::sqrt(moments.deviation / static_cast<A>(width) + epsilon)};
}
TENON_EXACT_END
}  // namespace detail

TENON_EXACT_BEGIN
/// Layer normalization over the last axes:  y = (x - mean) / sqrt(variance + epsilon) gamma + beta
///
/// x           [..., normalized extents]; floating-point
/// gamma, beta the normalized extents; float32, or float64 beside a float64 x
/// result      shape and dtype of x
/// derivative  to x, gamma, and beta
/// order       16 lanes along a row; rows in chains of 32 for gamma and beta; long ones as in
///             kernel/cpu/reduce/sum_tree.hpp
/// source      Ba, Kiros, and Hinton, arXiv 1607.06450; MindSpore's LayerNorm
struct LayerNorm : Operator<LayerNorm, "LayerNorm"> {
  static constexpr bool float_parameters = true;
  using Config = LayerNormAttributes;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &x = in[0], &gamma = in[1];
    const Dtype wanted = x.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    bool fits = x.rank > gamma.rank || (x.rank == gamma.rank && !x.batched());
    for (int axis = 0; fits && axis < gamma.rank; ++axis)
      fits = x.extent[x.rank - gamma.rank + axis] == gamma.extent[axis];
    if (!is_floating(x.dtype))
      error << "LayerNorm needs a floating-point input, got " << tenon::name(x.dtype) << " " << x;
    else if (!fits || !gamma.rank)
      error << "LayerNorm got an input " << x << ", its gamma " << gamma << " normalizes the last axes, which must be "
            << gamma;
    else if (!in[2].same_shape(gamma))
      error << "LayerNorm got gamma " << gamma << " and beta " << in[2] << ", which must have one shape";
    else if (gamma.dtype != wanted || in[2].dtype != wanted)
      error << "LayerNorm of " << tenon::name(x.dtype) << " needs parameters of " << tenon::name(wanted) << ", got "
            << tenon::name(gamma.dtype);
    return x;
  }
  static constexpr void derivative(Derivative& d);
  template <class Call>
  static constexpr long items(long n) {
    return detail::NormRows<Call, 1>::rows(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return detail::NormRows<Call, 1>::width * 3;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = typename Call::template Operand<1>;
    constexpr long width = detail::NormRows<Call, 1>::width;
    const A *gamma = a.operand<A>(1), *beta = a.operand<A>(2);
    for (long row = begin; row < end; ++row) {
      const T* x = a.operand<T>(0) + row * width;
      T* y = a.result<T>() + row * width;
      const auto m = detail::row_moments<A>(x, width, A(Call::config().epsilon));
      kernel::map_unrolled<true, true, true>(
          y, width,
          [m](auto value, A scale, A shift) { return (static_cast<A>(value) - m.mean) * m.inverse * scale + shift; }, x,
          gamma, beta);
    }
  }
};

/// Mean and 1 / sqrt(variance + epsilon) of each row, [..., 2]. Operands: x, gamma (for its shape). Not for users.
struct LayerNormMoments : Operator<LayerNormMoments, "LayerNormMoments"> {
  using Config = LayerNormAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType t = in[0].with(in[1].dtype);
    t.rank = in[0].rank - in[1].rank;
    for (int axis = t.rank; axis < max_rank; ++axis) t.extent[axis] = 0;
    t.extent[t.rank++] = 2;
    return t;
  }
  template <class Call>
  static constexpr long items(long n) {
    return detail::NormRows<Call, 1>::rows(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return detail::NormRows<Call, 1>::width * 2;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long width = detail::NormRows<Call, 1>::width;
    for (long row = begin; row < end; ++row) {
      const auto m = detail::row_moments<A>(a.operand<T>(0) + row * width, width, A(Call::config().epsilon));
      a.result<A>()[2 * row] = m.mean;
      a.result<A>()[2 * row + 1] = m.inverse;
    }
  }
};

/// dx = inverse (h - mean(h) - xhat mean(h xhat)) with h = dy gamma. Operands: x, gamma, moments, dy. Not for users.
struct LayerNormInputGrad : Operator<LayerNormInputGrad, "LayerNormGrad"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return detail::NormRows<Call, 1>::rows(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return detail::NormRows<Call, 1>::width * 3;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = typename Call::template Operand<1>;
    constexpr long width = detail::NormRows<Call, 1>::width;
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

/// dgamma = sum over rows of dy xhat, or dbeta = sum over rows of dy. Operands: x, gamma, moments, dy. Not for users.
struct LayerNormGammaGrad : Operator<LayerNormGammaGrad, "LayerNormGammaGrad"> {
  struct Config {
    int beta = 0;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[1]; }
  template <class Call>
  static constexpr long items(long) {
    return Call::result.count(1);
  }
  template <class Call>
  static constexpr long cost(long n) {
    return detail::NormRows<Call, 1>::rows(n) + 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long width = detail::NormRows<Call, 1>::width;
    const long rows = detail::NormRows<Call, 1>::rows(a.n);
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

constexpr void LayerNorm::derivative(Derivative& d) {
  const int x = d.operand(0), gamma = d.operand(1);
  const int moments = d.call_with<LayerNormMoments>(d.config<LayerNorm>(), x, gamma);
  d.flows_to(0, d.call<LayerNormInputGrad>(x, gamma, moments, d.gradient()));
  d.flows_to(1, d.call_with<LayerNormGammaGrad>({0}, x, gamma, moments, d.gradient()));
  d.flows_to(2, d.call_with<LayerNormGammaGrad>({1}, x, gamma, moments, d.gradient()));
}

/// Normalizes the last axes of x, those of gamma: `layer_norm(x, gamma, beta)`.
template <LayerNormAttributes config = LayerNormAttributes{}>
constexpr auto layer_norm(const Operand auto& x, const Operand auto& gamma, const Operand auto& beta,
                          std::source_location at = std::source_location::current()) {
  return apply<LayerNorm, config>(at, x, gamma, beta);
}

}  // namespace tenon::ops
