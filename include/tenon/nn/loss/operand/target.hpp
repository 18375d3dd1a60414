// The target of an element-wise loss; a target that does not fit is an error that names the loss.
#pragma once
#include <tenon/core/text/type_name.hpp>
#include <tenon/nn/checked_cell.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// What is wrong with a target beside a prediction; empty if nothing is.
constexpr Sentence wrong_target(std::string_view loss, const TensorType& prediction, const TensorType& target,
                                bool any_dtype) {
  Sentence s;
  TensorType both;
  const bool fits = ops::broadcast(prediction, target, both), equal = any_dtype || prediction.dtype == target.dtype;
  if (fits && equal) return s;
  s << loss << " got a prediction " << tenon::name(prediction.dtype) << " " << prediction << " and a label "
    << tenon::name(target.dtype) << " " << target << ": ";
  if (!is_floating(prediction.dtype)) return s << "a prediction is floating-point";
  if (!equal && target.rank + 1 == prediction.rank)
    return s << "the label must be " << tenon::name(prediction.dtype)
             << " and of the prediction's shape; class numbers are for nn::SoftmaxCrossEntropyWithLogits";
  if (!equal)
    return s << "the label must be " << tenon::name(prediction.dtype)
             << ": dataset::map<1>([](int y) { return float(y); }) converts a column";
  return s << "the shapes do not broadcast, the label must have that of the prediction";
}
}  // namespace detail

/// The target of Loss, an element-wise loss, for a prediction. In a trace a target of another dtype (unless the loss
/// takes any), or of a shape that does not broadcast, fails with a sentence that names the loss and both types.
template <class Loss, bool any_dtype = false>
constexpr decltype(auto) target_of(const auto& prediction, const auto& target) {
  using X = std::remove_cvref_t<decltype(prediction)>;
  using Y = std::remove_cvref_t<decltype(target)>;
  if constexpr (tenon::detail::is_traced<X> && tenon::detail::is_traced<Y>) {
    constexpr Sentence wrong = detail::wrong_target(class_name<Loss>(), X::dims, Y::dims, any_dtype);
    if constexpr (wrong.empty()) return (target);
    else {
      prediction.builder->fail(wrong);
      return Broken(prediction.builder);
    }
  } else return (target);
}

}  // namespace tenon::nn
