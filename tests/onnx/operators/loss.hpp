// Losses of classes, which ONNX has in axis 1.
#pragma once
#include "axes.hpp"

namespace onnx {

namespace detail {
/// The classes as the last axis.
template <class X>
constexpr auto classes_last(const X& x) {
  if constexpr (rank<X> == 2) return ops::identity(x);
  else {
    constexpr List order = [] {
      List result = range(0, rank<X>);
      for (int i = 1; i + 1 < rank<X>; ++i) result.value[i] = i + 1;
      result.value[rank<X> - 1] = 1;
      return result;
    }();
    return spread<order>([&]<int... axis>() { return ops::transpose<axis...>(x); });
  }
}
/// The loss of log-probabilities [..., C]: a weight for each class or none, and a label that does not count.
template <class Node>
constexpr auto labelled(const auto& log_probability, const auto& labels, const auto&... weight) {
  using X = std::remove_cvref_t<decltype(log_probability)>;
  constexpr int classes = int(type<X>.last());
  constexpr bool ignores = has<Node>("ignore_index");
  constexpr long ignored = whole<Node>("ignore_index", 0);
  constexpr std::string_view reduction = text<Node>("reduction", "mean");
  const auto counted = ops::not_equal(labels, ignores ? int(ignored) : -2147483647);
  const auto named = ops::select(counted, labels, 0);
  const auto ones = ops::one_hot<classes, bool>(named);
  const auto chosen = ops::neg(ops::reduce_sum<-1>(ops::select(ones, log_probability, 0)));
  const auto share = [&] {
    const auto counts = ops::cast<Element<X>>(counted);
    if constexpr (sizeof...(weight) == 0) return counts;
    else return ops::mul(counts, ops::reduce_sum<-1>(ops::select(ones, weight, 0))...);
  }();
  const auto loss = ops::mul(chosen, share);
  if constexpr (reduction == "none") return loss;
  else if constexpr (reduction == "sum") return ops::reduce_sum(loss);
  else return ops::div(ops::reduce_sum(loss), ops::reduce_sum(share));
}
}  // namespace detail

template <class Node>
constexpr auto NegativeLogLikelihoodLoss(const auto& x, const auto& labels, const auto&... weight) {
  return detail::labelled<Node>(detail::classes_last(x), labels, weight...);
}
template <class Node>
constexpr auto SoftmaxCrossEntropyLoss(const auto& x, const auto& labels, const auto&... weight) {
  const auto log_probability = ops::log_softmax<1>(x);
  const auto loss = detail::labelled<Node>(detail::classes_last(log_probability), labels, weight...);
  if constexpr (Node::outputs == 1) return loss;
  else return std::tuple(loss, log_probability);
}

}  // namespace onnx
