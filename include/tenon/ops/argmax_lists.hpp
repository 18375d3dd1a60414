// The operators that make and read lists instead of the gradients of max pooling (graph/pass/list_maxima.hpp). Only
// graphs contain them.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/ir/list_form.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Of the gradients of a convolution with weights w: a window of 2 x 2 has one element in the list, and each element
/// meets the weights of its channel.
constexpr double list_flops(const TensorType& list, const TensorType& w, long n) {
  return 2 * double(list.count(n)) / 4 * double(w.count(1)) / w[0];
}
}  // namespace detail

/// MaxPool2dGrad with ReluGrad after it: a list per plane of the argmaxes greater than 0, in its room. Operands:
/// the maxima, their places, dy.
struct MaxPoolList : Operator<MaxPoolList, "MaxPoolList"> {
  using Config = ListForm;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// SumTo of the channels of such a list.
struct SumOfLists : Operator<SumOfLists, "SumOfLists"> {
  using Config = ListForm;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// Conv2dBackwardWeight. Operands: x, list.
struct ArgmaxConv2dWeight : Operator<ArgmaxConv2dWeight, "ArgmaxConv2DFilter"> {
  using Config = Conv2dAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return detail::list_flops(in[1], result, n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[1][1], in[0][1], c.first, c.second}, 4, in[0].dtype};
  }
};

/// Conv2dBackwardInput. Operands: weight, list.
struct ArgmaxConv2dInput : Operator<ArgmaxConv2dInput, "ArgmaxConv2DInput"> {
  static constexpr int operands_before_epilogue = 2;
  using Config = Conv2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return detail::list_flops(in[1], in[0], n);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType x = in[1];
    x.extent[1] = in[0][1], x.extent[2] = c.first, x.extent[3] = c.second;
    return x;
  }
};

}  // namespace tenon::ops
