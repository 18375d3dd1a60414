// Convolutions and their gradients: the products of the definition, one after the other, each added where it belongs,
// in double. Winograd's operators are other ways to the same numbers.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2d;
struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;
struct WinogradConv2d;
struct WinogradConv2dInput;
struct WinogradConv2dWeight;
}  // namespace ops

namespace kernel::reference {

/// Calls `product(i, j, k)` for each product x[i] * w[j] that y[k] is a sum of, where y is the convolution of x with w.
/// In the padding i is -1.
template <class Product>
void each_product(const TensorType& x, const TensorType& w, const TensorType& y, const ops::Conv2dAttributes& c, long n,
                  Product product) {
  for (long k = 0; k < y.count(n); ++k) {
    const Index at = index_of(k, y, n);
    const long group = at[1] / (w[0] / c.groups);
    for (long depth = 0; depth < w[1]; ++depth)
      for (long a = 0; a < w[2]; ++a)
        for (long b = 0; b < w[3]; ++b) {
          const long row = at[2] * c.stride_h - c.top + a * c.dilation_h;
          const long column = at[3] * c.stride_w - c.left + b * c.dilation_w;
          const bool inside = row >= 0 && row < x[2] && column >= 0 && column < x[3];
          product(inside ? place({at[0], group * w[1] + depth, row, column}, x, n) : -1,
                  place({at[1], depth, a, b}, w, n), k);
        }
  }
}

/// The elements of a result, each added up in double and rounded once.
template <class T>
struct Sums {
  explicit Sums(long count) : sum(std::size_t(count)) {}
  void add(long i, T x, T y) { sum[std::size_t(i)] += static_cast<double>(x) * static_cast<double>(y); }
  void write(T* result) const {
    for (std::size_t i = 0; i < sum.size(); ++i) result[i] = static_cast<T>(sum[i]);
  }
  std::vector<double> sum;
};

/// Operands x, w. An infinite weight makes NaN of the padding, which counts as 0.
struct Convolution : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    Sums<T> y(Call::result.count(a.n));
    each_product(Call::operand(0), Call::operand(1), Call::result, Call::config(), a.n,
                 [&](long i, long j, long k) { y.add(k, i < 0 ? T(0.0f) : a.operand<T>(0)[i], a.operand<T>(1)[j]); });
    y.write(a.result<T>());
  }
};
/// Operands w, dy: each product passes its factor of x the other factor times dy.
struct ConvolutionInput : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    Sums<T> dx(Call::result.count(a.n));
    each_product(Call::result, Call::operand(0), Call::operand(1), Call::config(), a.n, [&](long i, long j, long k) {
      if (i >= 0) dx.add(i, a.operand<T>(0)[j], a.operand<T>(1)[k]);
    });
    dx.write(a.result<T>());
  }
};
/// Operands x, dy: the same for its factor of w.
struct ConvolutionWeight : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    Sums<T> dw(Call::result.count(a.n));
    each_product(Call::operand(0), Call::result, Call::operand(1), Call::config(), a.n,
                 [&](long i, long j, long k) { dw.add(j, i < 0 ? T(0.0f) : a.operand<T>(0)[i], a.operand<T>(1)[k]); });
    dw.write(a.result<T>());
  }
};

}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Conv2d> : kernel::reference::Convolution {};
template <>
struct Kernel<Reference, ops::Conv2dBackwardInput> : kernel::reference::ConvolutionInput {};
template <>
struct Kernel<Reference, ops::Conv2dBackwardWeight> : kernel::reference::ConvolutionWeight {};
template <>
struct Kernel<Reference, ops::WinogradConv2d> : kernel::reference::Convolution {};
template <>
struct Kernel<Reference, ops::WinogradConv2dInput> : kernel::reference::ConvolutionInput {};
template <>
struct Kernel<Reference, ops::WinogradConv2dWeight> : kernel::reference::ConvolutionWeight {};

}  // namespace tenon
TENON_EXACT_END
