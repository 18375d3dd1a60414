// Lines along an axis: sort, running sums and products, elements by number.
#pragma once
#include <algorithm>
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct CumProd;
struct CumProdGrad;
struct CumSum;
struct GatherElements;
struct ScatterElements;
struct Sort;
struct SortGrad;
}  // namespace ops

namespace kernel::reference {

/// Calls f(place of the first element, distance of the elements) for each line of t along an axis.
template <class F>
void each_line(const TensorType& t, int axis, long n, F f) {
  const long step = t.span(axis + 1, t.rank), extent = t.size(axis, n);
  for (long i = 0; i < t.count(n); ++i)
    if (i / step % extent == 0) f(i, step);
}

/// Running results in double or, of integers, in their type.
template <bool product>
struct Cumulative : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, T>;
    const int axis = normalized_axis(Call::config().axis, Call::result.rank);
    const long extent = Call::result.size(axis, a.n);
    each_line(Call::result, axis, a.n, [&](long first, long step) {
      A running = A(product);
      for (long k = 0; k < extent; ++k) {
        const long at = first + step * (Call::config().reverse ? extent - 1 - k : k);
        const A before = running, own = static_cast<A>(a.operand<T>(0)[at]);
        running = product ? math::wrapping_multiply(running, own) : math::wrapping_add(running, own);
        const A y = Call::config().exclusive ? before : running;
        if constexpr (is_floating(dtype_of<T>)) a.result<T>()[at] = rounded<T>(y);
        else a.result<T>()[at] = y;
      }
    });
  }
};

struct SumByNumber : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, T>;
    const std::size_t axis = std::size_t(Call::config().axis);
    std::vector<A> sum(std::size_t(Call::result.count(a.n)), A(0));
    for (long i = 0; i < Call::operand(1).count(a.n); ++i) {
      Index index = index_of(i, Call::operand(1), a.n);
      long number = static_cast<long>(a.operand<typename Call::template Operand<0>>(0)[i]);
      if (number < 0) number += Call::config().extent;
      index[axis] = number;
      A& own = sum[std::size_t(place(index, Call::result, a.n))];
      own = math::wrapping_add(own, static_cast<A>(a.operand<T>(1)[i]));
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if constexpr (is_floating(dtype_of<T>)) a.result<T>()[i] = rounded<T>(sum[i]);
      else a.result<T>()[i] = sum[i];
  }
};

}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::CumSum> : kernel::reference::Cumulative<false> {};
template <>
struct Kernel<Reference, ops::CumProd> : kernel::reference::Cumulative<true> {};
template <>
struct Kernel<Reference, ops::ScatterElements> : kernel::reference::SumByNumber {};
template <>
struct Kernel<Reference, ops::SortGrad> : kernel::reference::SumByNumber {};

/// The sum over k of dy_k and the product of all other factors of y_k.
template <>
struct Kernel<Reference, ops::CumProdGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const int axis = normalized_axis(c.axis, Call::result.rank);
    const long extent = Call::result.size(axis, a.n);
    kernel::reference::each_line(Call::result, axis, a.n, [&](long first, long step) {
      const auto at = [&](long k) { return first + step * (c.reverse ? extent - 1 - k : k); };
      for (long i = 0; i < extent; ++i) {
        double product = 1, sum = 0;  // of the factors before element i, then of all but it
        for (long k = 0; k < i; ++k) product *= static_cast<double>(a.operand<T>(0)[at(k)]);
        for (long k = i; k < extent; ++k) {
          if (c.exclusive && k > i) sum += product * static_cast<double>(a.operand<T>(1)[at(k)]);
          if (k > i) product *= static_cast<double>(a.operand<T>(0)[at(k)]);
          if (!c.exclusive) sum += product * static_cast<double>(a.operand<T>(1)[at(k)]);
        }
        a.result<T>()[at(i)] = kernel::reference::rounded<T>(sum);
      }
    });
  }
};

template <>
struct Kernel<Reference, ops::GatherElements> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr TensorType x = Call::operand(0);
    constexpr int axis = normalized_axis(Call::config().axis, x.rank);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, Call::result, a.n);
      long number = static_cast<long>(a.operand<typename Call::template Operand<1>>(1)[i]);
      if (number < 0) number += x[axis];
      index[std::size_t(axis)] = number;
      a.result<T>()[i] = a.operand<T>(0)[kernel::reference::place(index, x, a.n)];
    }
  }
};

template <>
struct Kernel<Reference, ops::Sort> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr int axis = normalized_axis(c.axis, Call::result.rank);
    const long extent = Call::operand(0)[axis], wanted = Call::result[axis];
    kernel::reference::each_line(Call::operand(0), axis, a.n, [&](long first, long step) {
      const auto value = [&](long k) { return static_cast<Compute<T>>(a.operand<T>(0)[first + k * step]); };
      const auto less = [&](long k, long j) {  // a NaN is larger than every number
        const auto left = value(k), right = value(j);
        return left < right || (left == left && right != right);
      };
      std::vector<long> order(static_cast<std::size_t>(extent));
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = long(k);
      std::stable_sort(order.begin(), order.end(),
                       [&](long k, long j) { return c.descending ? less(j, k) : less(k, j); });
      const long to = first / (extent * step) * wanted * step + first % step;
      for (long k = 0; k < wanted; ++k) {
        const long from = order[static_cast<std::size_t>(k)];
        a.result<T>()[to + k * step] = a.operand<T>(0)[first + from * step];
        if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[to + k * step] = static_cast<std::int32_t>(from);
      }
    });
  }
};

}  // namespace tenon
TENON_EXACT_END
