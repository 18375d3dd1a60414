// Softmax and cross entropy of one row of logits at a time, and the gradient.
#pragma once
#include <tenon/backend/cpu/attention/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct SoftmaxCrossEntropy;
struct SoftmaxCrossEntropyGrad;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::SoftmaxCrossEntropy> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::operand(0).last() * 16;
  }
  template <class Call>
  static constexpr int row_axes() {
    return tenon::detail::common_axes(Call::description, Call::operand(0).rank - 1);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using C = Compute<T>;
    using L = typename Call::template Operand<1>;
    constexpr long classes = Call::operand(0).last();
    for (long row = begin; row < end; ++row) {
      const T* x = a.operand<T>(0) + row * classes;
      const C largest = kernel::row_maximum<C, kernel::lanes_reached<classes>>(x, classes);
      const C total = math::log(
          kernel::exponentials<false, kernel::lanes_reached<classes>>(x, static_cast<T*>(nullptr), classes, largest));
      if constexpr (Call::operand(1).rank < Call::operand(0).rank) {
        const long label = static_cast<long>(a.operand<L>(1)[row]);
        const C of_label = label >= 0 && label < classes ? static_cast<C>(x[label]) : C(0);
        a.result<T>()[row] = static_cast<T>(total - (of_label - largest));
      } else {
        const L* const label = a.operand<L>(1) + row * classes;
        a.result<T>()[row] = static_cast<T>(kernel::lane_sum<C>(
            classes,
            [total, largest](auto share, auto value) {
              return static_cast<C>(share) * (total - (static_cast<C>(value) - largest));
            },
            label, x));
      }
    }
  }
};

template <>
struct Kernel<Cpu, ops::SoftmaxCrossEntropyGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(2).count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result.last() * 16;
  }
  template <class Call>
  static constexpr int row_axes() {
    return tenon::detail::common_axes(Call::description, Call::operand(0).rank - 1);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using C = Compute<T>;
    using L = typename Call::template Operand<1>;
    constexpr long classes = Call::result.last();
    constexpr bool sparse = Call::operand(1).rank < Call::result.rank;
    for (long row = begin; row < end; ++row) {
      const T* x = a.operand<T>(0) + row * classes;
      const L* label = a.operand<L>(1) + (sparse ? row : row * classes);
      T* dx = a.result<T>() + row * classes;
      const C gradient = static_cast<C>(a.operand<T>(2)[row]),
              largest = kernel::row_maximum<C, kernel::lanes_reached<classes>>(x, classes);
      constexpr bool keep = std::is_same_v<T, C>;
      const C sum = kernel::exponentials<keep, kernel::lanes_reached<classes>>(x, dx, classes, largest);
      const auto share = [=](long i) {
        return (keep ? static_cast<C>(dx[i]) : math::exp(static_cast<C>(x[i]) - largest)) / sum;
      };
      if constexpr (sparse) {
        const long number = static_cast<long>(label[0]);
        const C at_label = number >= 0 && number < classes ? (share(number) - C(1)) * gradient : C(0);
        kernel::store_unrolled(dx, classes, [=](long i) { return share(i) * gradient; });
        if (number >= 0 && number < classes) dx[number] = static_cast<T>(at_label);
      } else {  // a distribution that does not add up to 1 scales its softmax
        const C weight = kernel::lane_sum<C>(classes, [](auto target) { return static_cast<C>(target); }, label);
        kernel::store_unrolled(dx, classes,
                               [=](long i) { return (share(i) * weight - static_cast<C>(label[i])) * gradient; });
      }
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
