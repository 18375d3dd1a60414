// The operators that the fuse pass makes of a convolution and of the maximum over windows of 2 x 2 after it.
#pragma once
#include <tenon/ops/argmax_conv2d.hpp>
#include <tenon/ops/conv2d_shape.hpp>
#include <tenon/ops/pool_argmax.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// What both share.
template <class Op, FixedString Name>
struct PoolingConv2d : Operator<Op, Name> {
  using Config = Conv2dAttributes;
  static constexpr bool per_sample = true;
  static constexpr int operands_before_epilogue = 2;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config& c, long n) {
    TensorType y = result;
    y.extent[2] = c.first, y.extent[3] = c.second;
    return detail::conv_flops(y, in[1], n);
  }
  static constexpr TensorType pooled(const OperandTypes& in, const Config& c) {
    TensorType y = in[0];
    y.extent[1] = in[1][0], y.extent[2] = c.first / 2, y.extent[3] = c.second / 2;
    return y;
  }
};
}  // namespace detail

/// MaxPool2d, windows of 2 x 2 side by side, of a float32 Conv2d with its epilogue, whose operands are numbers or have
/// a value per channel. Operands and settings are those of the convolution. Only graphs contain it.
struct Conv2dMaxPool : detail::PoolingConv2d<Conv2dMaxPool, "Conv2DMaxPool"> {
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) { return pooled(in, c); }
};
/// The same where the gradient is asked for: the second result are the numbers of the windows' argmaxes.
struct Conv2dMaxPoolArgmax : detail::PoolingConv2d<Conv2dMaxPoolArgmax, "Conv2DMaxPoolArgmax"> {
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {pooled(in, c), pooled(in, c)};
  }
};

namespace detail {
struct ConvMaxPoolOperators {
  static constexpr ConvMaxPool operators{.joined = &info<Conv2dMaxPool>,
                                         .joined_with_argmax = &info<Conv2dMaxPoolArgmax>,
                                         .spread = &info<MaxPoolSpread>,
                                         .list = &info<MaxPoolList>,
                                         .weight_from_list = &info<ArgmaxConv2dWeight>,
                                         .input_from_list = &info<ArgmaxConv2dInput>,
                                         .sum_of_list = &info<SumOfLists>};
};
}  // namespace detail

}  // namespace tenon::ops
