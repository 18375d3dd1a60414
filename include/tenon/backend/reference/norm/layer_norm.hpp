// Layer normalization and its gradients: rows of the elements that are normalized together, in double.
#pragma once
#include <cmath>

#include <tenon/backend/reference/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct LayerNorm;
struct LayerNormMoments;
struct LayerNormInputGrad;
struct LayerNormGammaGrad;
}  // namespace ops

namespace kernel::reference {
/// Row `row` of operand 0, whose width is that of gamma, operand 1.
template <class Call>
auto normalized_row(const Arguments& a, long row) {
  using T = typename Call::template Operand<0>;
  return [x = a.operand<T>(0) + row * Call::operand(1).count(1)](long i) { return static_cast<double>(x[i]); };
}
/// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowNorm {
  double mean, inverse;
};
template <class Call>
RowNorm norm_of(const Arguments& a, long row) {
  const MeanVariance of = moments_of(Call::operand(1).count(1), normalized_row<Call>(a, row));
  return {of.mean, 1 / std::sqrt(of.variance + static_cast<double>(Call::config().epsilon))};
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::LayerNorm> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    constexpr long width = Call::operand(1).count(1);
    for (long row = 0; row < Call::result.count(a.n) / width; ++row) {
      const auto x = kernel::reference::normalized_row<Call>(a, row);
      const auto of = kernel::reference::norm_of<Call>(a, row);
      for (long i = 0; i < width; ++i) {
        const double gamma = a.operand<P>(1)[i], beta = a.operand<P>(2)[i];
        a.result<T>()[row * width + i] = static_cast<T>((x(i) - of.mean) * of.inverse * gamma + beta);
      }
    }
  }
};

template <>
struct Kernel<Reference, ops::LayerNormMoments> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using P = typename Call::Result;
    for (long row = 0; row < Call::result.count(a.n) / 2; ++row) {
      const auto of = kernel::reference::norm_of<Call>(a, row);
      a.result<P>()[row * 2] = static_cast<P>(of.mean), a.result<P>()[row * 2 + 1] = static_cast<P>(of.inverse);
    }
  }
};

/// inverse (h - mean(h) - xhat mean(h xhat)) with h = dy gamma
template <>
struct Kernel<Reference, ops::LayerNormInputGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    constexpr long width = Call::operand(1).count(1);
    for (long row = 0; row < Call::result.count(a.n) / width; ++row) {
      const auto x = kernel::reference::normalized_row<Call>(a, row);
      const double mean = a.operand<P>(2)[row * 2], inverse = a.operand<P>(2)[row * 2 + 1];
      const auto xhat = [&](long i) { return (x(i) - mean) * inverse; };
      const auto h = [&](long i) {
        return static_cast<double>(a.operand<T>(3)[row * width + i]) * static_cast<double>(a.operand<P>(1)[i]);
      };
      const double mean_h = kernel::reference::sum_of(width, h) / width,
                   mean_h_xhat = kernel::reference::sum_of(width, [&](long i) { return h(i) * xhat(i); }) / width;
      for (long i = 0; i < width; ++i)
        a.result<T>()[row * width + i] = static_cast<T>(inverse * (h(i) - mean_h - xhat(i) * mean_h_xhat));
    }
  }
};

/// The sum over rows of dy xhat, or of dy for beta.
template <>
struct Kernel<Reference, ops::LayerNormGammaGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using P = typename Call::Result;
    using T = typename Call::template Operand<0>;
    constexpr long width = Call::result.count(1);
    for (long i = 0; i < width; ++i)
      a.result<P>()[i] = static_cast<P>(kernel::reference::sum_of(Call::operand(0).count(a.n) / width, [&](long row) {
        const double dy = static_cast<double>(a.operand<T>(3)[row * width + i]);
        if (Call::config().beta) return dy;
        const double mean = a.operand<P>(2)[row * 2], inverse = a.operand<P>(2)[row * 2 + 1];
        return dy * (kernel::reference::normalized_row<Call>(a, row)(i) - mean) * inverse;
      }));
  }
};

}  // namespace tenon
TENON_EXACT_END
