// Softmax, its logarithm, its gradient, and the cross entropy that follows it: row by row in double.
#pragma once
#include <cmath>
#include <limits>

#include <tenon/backend/reference/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Softmax;
struct LogSoftmax;
struct SoftmaxGrad;
struct SoftmaxCrossEntropy;
struct SoftmaxCrossEntropyGrad;
}  // namespace ops

namespace kernel::reference {
/// What softmax needs to know of a row x(0) .. x(count - 1): e^x(k) has the share e^(x(k) - largest) / sum.
struct Exponentials {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;

  template <class X>
  Exponentials(long count, X x) {
    for (long k = 0; k < count; ++k) largest = std::fmax(largest, x(k));  // not a NaN, which spoils the sum
    sum = sum_of(count, [&](long k) { return std::exp(x(k) - largest); });
  }
  double share(double x) const { return std::exp(x - largest) / sum; }
  double log_share(double x) const { return x - largest - std::log(sum); }
};
/// A row of the last axis of operand k.
template <class Call, int K>
auto row_of(const Arguments& a, long row) {
  using T = typename Call::template Operand<K>;
  return [x = a.operand<T>(K) + row * Call::operand(K).last()](long i) { return static_cast<double>(x[i]); };
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Softmax> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    kernel::reference::for_each_row(Call::result, Call::config().axis, a.n, [&](long count, auto place) {
      const auto x = [&](long k) { return static_cast<double>(a.operand<T>(0)[place(k)]); };
      const kernel::reference::Exponentials row(count, x);
      for (long k = 0; k < count; ++k) a.result<T>()[place(k)] = static_cast<T>(row.share(x(k)));
    });
  }
};

template <>
struct Kernel<Reference, ops::LogSoftmax> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    kernel::reference::for_each_row(Call::result, Call::config().axis, a.n, [&](long count, auto place) {
      const auto x = [&](long k) { return static_cast<double>(a.operand<T>(0)[place(k)]); };
      const kernel::reference::Exponentials row(count, x);
      for (long k = 0; k < count; ++k) a.result<T>()[place(k)] = static_cast<T>(row.log_share(x(k)));
    });
  }
};

/// y (dy - sum of y dy)
template <>
struct Kernel<Reference, ops::SoftmaxGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    kernel::reference::for_each_row(Call::result, Call::config().axis, a.n, [&](long count, auto place) {
      const auto y = [&](long k) { return static_cast<double>(a.operand<T>(0)[place(k)]); };
      const auto dy = [&](long k) { return static_cast<double>(a.operand<T>(1)[place(k)]); };
      const double sum = kernel::reference::sum_of(count, [&](long k) { return y(k) * dy(k); });
      for (long k = 0; k < count; ++k) a.result<T>()[place(k)] = static_cast<T>(y(k) * (dy(k) - sum));
    });
  }
};

/// -log of the share of the label's class, or the sum of that over classes by their targets.
template <>
struct Kernel<Reference, ops::SoftmaxCrossEntropy> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using L = typename Call::template Operand<1>;
    constexpr long classes = Call::operand(0).last();
    for (long row = 0; row < Call::result.count(a.n); ++row) {
      const auto x = kernel::reference::row_of<Call, 0>(a, row);
      const kernel::reference::Exponentials of(classes, x);
      double loss = 0;
      if constexpr (Call::operand(1).rank < Call::operand(0).rank) {
        const long label = static_cast<long>(a.operand<L>(1)[row]);
        if (label >= 0 && label < classes) loss = -of.log_share(x(label));  // another one has been refused
      } else {
        const auto target = kernel::reference::row_of<Call, 1>(a, row);
        loss = kernel::reference::sum_of(classes, [&](long k) { return target(k) * -of.log_share(x(k)); });
      }
      a.result<T>()[row] = static_cast<T>(loss);
    }
  }
};

/// (share - target) dy, where the shares add up to what the targets do.
template <>
struct Kernel<Reference, ops::SoftmaxCrossEntropyGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using L = typename Call::template Operand<1>;
    constexpr long classes = Call::result.last();
    for (long row = 0; row < Call::operand(2).count(a.n); ++row) {
      const auto x = kernel::reference::row_of<Call, 0>(a, row);
      const kernel::reference::Exponentials of(classes, x);
      const auto target = [&](long k) {
        if constexpr (Call::operand(1).rank < Call::result.rank) return a.operand<L>(1)[row] == k ? 1.0 : 0.0;
        else return kernel::reference::row_of<Call, 1>(a, row)(k);
      };
      const double dy = static_cast<double>(a.operand<T>(2)[row]), weight = kernel::reference::sum_of(classes, target);
      for (long k = 0; k < classes; ++k)
        a.result<T>()[row * classes + k] = static_cast<T>((of.share(x(k)) * weight - target(k)) * dy);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
