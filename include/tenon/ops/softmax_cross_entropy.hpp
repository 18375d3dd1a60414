// Softmax and cross entropy in one operator, with class numbers or with a distribution as labels.
#pragma once
#include <tenon/kernel/cpu/attention/softmax.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Operand 1 holds class numbers where it has an axis less than the logits.
constexpr IndexRange class_numbers(const OperandTypes& in) {
  if (in[1].rank == in[0].rank) return {};
  return {.operand = 1,
          .high = in[0].last(),
          .number = "label",
          .have = "classes of the prediction",
          .advice = "give the last layer more outputs"};
}

TENON_EXACT_BEGIN
/// dlogits = (softmax(logits) - target) * dy, per row. Operands: logits, labels, dy. Not for users.
struct SoftmaxCrossEntropyGrad : Operator<SoftmaxCrossEntropyGrad, "SoftmaxCrossEntropyGrad"> {
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  // Asked here, too: a graph that wants the gradient alone computes no loss.
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) { return class_numbers(in); }
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(2).count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result.last() * 16;
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
        return (keep ? static_cast<C>(dx[i]) : kernel::exp(static_cast<C>(x[i]) - largest)) / sum;
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

/// Cross entropy between softmax(logits) and labels, per row:  y = log Σ exp(x) - x[label],  or
/// Σ t (log Σ exp(x) - x); computed from x - max, so that large logits lose no digits
///
/// logits      [..., C]; floating-point
/// labels      [...] of int32 or int64 with classes 0 .. C - 1, or [..., C] of the logits' dtype. Other class numbers
///             throw ValueError; a Model looks at those of its data before the step (train/labels.hpp)
/// result      [...]
/// derivative  (softmax(logits) - target) dy; none for labels
/// order       sums over classes in 16 lanes, as softmax
/// source      MindSpore's SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits
struct SoftmaxCrossEntropy : Operator<SoftmaxCrossEntropy, "SoftmaxCrossEntropyWithLogits"> {
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &x = in[0], &labels = in[1];
    const bool classes = labels.dtype == Dtype::int32 || labels.dtype == Dtype::int64;
    TensorType y = x;
    y.rank = x.rank ? x.rank - 1 : 0;
    if (x.rank) y.extent[y.rank] = 0;
    if (x.rank == 0) error << "SoftmaxCrossEntropyWithLogits needs logits [n,classes], got " << x;
    else if (!classes && labels.dtype != x.dtype)
      error << "SoftmaxCrossEntropyWithLogits needs labels of int32 (class numbers) or " << tenon::name(x.dtype)
            << " (distributions), got " << tenon::name(labels.dtype) << " " << labels;
    else if (classes ? !labels.same_shape(y) : !labels.same_shape(x))
      error << "SoftmaxCrossEntropyWithLogits got logits " << x << " and labels " << labels << " of "
            << tenon::name(labels.dtype) << ", which must be " << (classes ? y : x)
            << (!classes && labels.same_shape(y) ? ", or class numbers of int32" : "");
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) { return class_numbers(in); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<SoftmaxCrossEntropyGrad>(d.operand(0), d.operand(1), d.gradient()));
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::operand(0).last() * 16;
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
      const C total = kernel::log(
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
TENON_EXACT_END

/// Cross entropy per row; reduce it with reduce_mean or use nn::SoftmaxCrossEntropyWithLogits.
constexpr auto softmax_cross_entropy(const Operand auto& logits, const Operand auto& labels,
                                     std::source_location at = std::source_location::current()) {
  return apply<SoftmaxCrossEntropy>(at, logits, labels);
}

}  // namespace tenon::ops
