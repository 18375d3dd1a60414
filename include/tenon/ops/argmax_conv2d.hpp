// The gradients of a convolution from a list of argmaxes (ops/argmax_lists.hpp). Only graphs contain them.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/pass/conv_max_pool.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Of the gradients of a convolution with weights w: a window of 2 x 2 has one element in the list, and each element
/// meets the weights of its channel.
constexpr double list_flops(const TensorType& list, const TensorType& w, long n) {
  return 2 * double(list.count(n)) / 4 * double(w.count(1)) / w[0];
}
}  // namespace detail

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
