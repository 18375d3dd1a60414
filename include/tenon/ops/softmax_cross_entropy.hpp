// Softmax and cross entropy in one operator, with class numbers or with a distribution as labels.
#pragma once
#include <tenon/kernel/cpu/math.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
namespace detail {
/// The largest of a row, and the sum of exp(x - largest), in ascending order.
template <class C, class T>
inline C row_maximum(const T* x, long count) {
  C largest = static_cast<C>(x[0]);
  for (long i = 1; i < count; ++i) largest = static_cast<C>(x[i]) > largest ? static_cast<C>(x[i]) : largest;
  return largest;
}
template <class C, class T>
inline C row_exp_sum(const T* x, long count, C largest) {
  C sum = 0;
  for (long i = 0; i < count; ++i) sum += kernel::exp(static_cast<C>(x[i]) - largest);
  return sum;
}
constexpr bool same_leading(const TensorType& logits, const TensorType& labels) {
  for (int axis = 0; axis < logits.rank - 1; ++axis)
    if (logits.extent[axis] != labels.extent[axis]) return false;
  return true;
}
}  // namespace detail

/// dlogits = (softmax(logits) - target) * dy, per row. Operands: logits, labels, dy. Not for users.
struct SoftmaxCrossEntropyGrad : Operator<SoftmaxCrossEntropyGrad, "SoftmaxCrossEntropyGrad"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call> static constexpr long items(long n) { return Call::operand(2).count(n); }
  template <class Call> static constexpr long cost(long) { return Call::result.last() * 16; }
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
      const C largest = detail::row_maximum<C>(x, classes), sum = detail::row_exp_sum<C>(x, classes, largest);
      const C gradient = static_cast<C>(a.operand<T>(2)[row]);
      C weight = 1;  // a distribution that does not add up to 1 scales its softmax
      if constexpr (!sparse) {
        weight = 0;
        for (long i = 0; i < classes; ++i) weight += static_cast<C>(label[i]);
      }
      for (long i = 0; i < classes; ++i) {
        const C target = sparse ? (static_cast<long>(label[0]) == i ? C(1) : C(0)) : static_cast<C>(label[sparse ? 0 : i]);
        dx[i] = static_cast<T>((kernel::exp(static_cast<C>(x[i]) - largest) / sum * weight - target) * gradient);
      }
    }
  }
};

/// Cross entropy between softmax(logits) and labels, per row:  y = log Σ exp(x) - x[label],  or  Σ t (log Σ exp(x) - x)
///
/// logits      [..., C]; floating-point
/// labels      [...] of int32 or int64 with classes 0 .. C - 1, or [..., C] of the logits' dtype. Other class numbers give the
///             row's log Σ exp(x) here; a Model refuses them before the step (train/labels.hpp)
/// result      [...]
/// derivative  (softmax(logits) - target) dy; none for labels
/// source      MindSpore's SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits
struct SoftmaxCrossEntropy : Operator<SoftmaxCrossEntropy, "SoftmaxCrossEntropyWithLogits"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &x = in[0], &labels = in[1];
    const bool classes = labels.dtype == Dtype::int32 || labels.dtype == Dtype::int64;
    TensorType y = x;
    y.rank = x.rank ? x.rank - 1 : 0;
    if (x.rank) y.extent[y.rank] = 0;
    if (x.rank == 0) error << "SoftmaxCrossEntropyWithLogits needs logits [n,classes], got " << x;
    else if (!classes && labels.dtype != x.dtype)
      error << "SoftmaxCrossEntropyWithLogits needs labels of int32 (class numbers) or " << tenon::name(x.dtype) << " (distributions), got " << tenon::name(labels.dtype) << " " << labels;
    else if (classes ? !labels.same_shape(y) : !labels.same_shape(x))
      error << "SoftmaxCrossEntropyWithLogits got logits " << x << " and labels " << labels << " of " << tenon::name(labels.dtype) << ", which must be " << (classes ? y : x);
    return y;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<SoftmaxCrossEntropyGrad>(d.operand(0), d.operand(1), d.gradient())); }
  template <class Call> static constexpr long items(long n) { return Call::result.count(n); }
  template <class Call> static constexpr long cost(long) { return Call::operand(0).last() * 16; }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using C = Compute<T>;
    using L = typename Call::template Operand<1>;
    constexpr long classes = Call::operand(0).last();
    for (long row = begin; row < end; ++row) {
      const T* x = a.operand<T>(0) + row * classes;
      const C largest = detail::row_maximum<C>(x, classes);
      const C total = kernel::log(detail::row_exp_sum<C>(x, classes, largest)) + largest;
      if constexpr (Call::operand(1).rank < Call::operand(0).rank) {
        const long label = static_cast<long>(a.operand<L>(1)[row]);
        a.result<T>()[row] = static_cast<T>(total - (label >= 0 && label < classes ? static_cast<C>(x[label]) : C(0)));
      } else {
        C sum = 0;
        for (long i = 0; i < classes; ++i) sum += static_cast<C>(a.operand<L>(1)[row * classes + i]) * (total - static_cast<C>(x[i]));
        a.result<T>()[row] = static_cast<T>(sum);
      }
    }
  }
};
TENON_EXACT_END

/// Cross entropy per row; reduce it with reduce_mean or use nn::SoftmaxCrossEntropyWithLogits.
constexpr auto softmax_cross_entropy(const Operand auto& logits, const Operand auto& labels, std::source_location at = std::source_location::current()) {
  return apply<SoftmaxCrossEntropy>(at, logits, labels);
}

}  // namespace tenon::ops
