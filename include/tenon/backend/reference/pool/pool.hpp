// Pooling and its gradients: window by window, averages in double.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2d;
struct MaxPool2dGrad;
struct AvgPool2d;
struct AvgPool2dGrad;
}  // namespace ops

namespace kernel::reference {

/// The places in x, in row-major order, of the elements in the window of y[k]; without the padding.
inline std::vector<long> window_of(long k, const TensorType& y, const TensorType& x, const ops::Pool2dAttributes& c,
                                   long n) {
  const Index at = index_of(k, y, n);
  std::vector<long> places;
  for (long a = 0; a < c.kh; ++a)
    for (long b = 0; b < c.kw; ++b) {
      const long row = at[2] * c.stride_h - c.top + a, column = at[3] * c.stride_w - c.left + b;
      if (row >= 0 && row < x[2] && column >= 0 && column < x[3])
        places.push_back(place({at[0], at[1], row, column}, x, n));
    }
  return places;
}
/// The place of the largest element, of equal ones the first. A NaN is larger than all, the last one of several.
template <class T>
long largest_of(const std::vector<long>& places, const T* x) {
  long best = places.at(0);
  for (const long i : places)
    if (x[i] > x[best] || x[i] != x[i]) best = i;
  return best;
}
/// What an average divides by.
inline double places_in(const std::vector<long>& window, const ops::Pool2dAttributes& c) {
  return c.count_include_pad ? double(c.kh) * c.kw : double(window.size());
}

}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::MaxPool2d> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr ops::Pool2dAttributes c = Call::config();
    const TensorType &x = Call::operand(0), &y = Call::result;
    for (long k = 0; k < y.count(a.n); ++k) {
      const long best = kernel::reference::largest_of(kernel::reference::window_of(k, y, x, c, a.n), a.operand<T>(0));
      a.result<T>()[k] = a.operand<T>(0)[best];
      if constexpr (has_result<Call, 1>) {
        const kernel::reference::Index from = kernel::reference::index_of(best, x, a.n),
                                       window = kernel::reference::index_of(k, y, a.n);
        const long row = from[2] - window[2] * c.stride_h + c.top, column = from[3] - window[3] * c.stride_w + c.left;
        using Place = std::remove_pointer_t<decltype(result_of<Call, 1>(a))>;
        result_of<Call, 1>(a)[k] = static_cast<Place>(row * c.kw + column);
      }
    }
  }
};

/// Operands places, dy.
template <>
struct Kernel<Reference, ops::MaxPool2dGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr ops::Pool2dAttributes c = Call::config();
    std::vector<double> dx(std::size_t(Call::result.count(a.n)));
    for (long k = 0; k < Call::operand(1).count(a.n); ++k) {
      kernel::reference::Index at = kernel::reference::index_of(k, Call::operand(1), a.n);
      const long place = long(a.operand<typename Call::template Operand<0>>(0)[k]);
      at[2] += at[2] * (c.stride_h - 1) - c.top + place / c.kw;
      at[3] += at[3] * (c.stride_w - 1) - c.left + place % c.kw;
      dx[std::size_t(kernel::reference::place(at, Call::result, a.n))] += double(a.operand<T>(1)[k]);
    }
    for (std::size_t i = 0; i < dx.size(); ++i) a.result<T>()[i] = static_cast<T>(dx[i]);
  }
};

template <>
struct Kernel<Reference, ops::AvgPool2d> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long k = 0; k < Call::result.count(a.n); ++k) {
      const auto window = kernel::reference::window_of(k, Call::result, Call::operand(0), Call::config(), a.n);
      double sum = 0;
      for (const long i : window) sum += double(a.operand<T>(0)[i]);
      a.result<T>()[k] = static_cast<T>(sum / kernel::reference::places_in(window, Call::config()));
    }
  }
};

/// Operand dy.
template <>
struct Kernel<Reference, ops::AvgPool2dGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    std::vector<double> dx(std::size_t(Call::result.count(a.n)));
    for (long k = 0; k < Call::operand(0).count(a.n); ++k) {
      const auto window = kernel::reference::window_of(k, Call::operand(0), Call::result, Call::config(), a.n);
      const double share = double(a.operand<T>(0)[k]) / kernel::reference::places_in(window, Call::config());
      for (const long i : window) dx[std::size_t(i)] += share;
    }
    for (std::size_t i = 0; i < dx.size(); ++i) a.result<T>()[i] = static_cast<T>(dx[i]);
  }
};

}  // namespace tenon
TENON_EXACT_END
