// The operators that the fuse pass makes of the gradients of a convolution with a maximum over windows of 2 x 2 after
// it, if all that read the gradient of its result do as well with a list of its argmaxes. Only graphs contain them.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/pass/conv_max_pool.hpp>

namespace tenon::inline TENON_ABI::ops {

/// MaxPoolSpread as a list per plane, in the plane's room. Operands: argmaxes, dy.
struct MaxPoolList : Operator<MaxPoolList, "MaxPoolList"> {
  using Config = ArgmaxListAttributes;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// SumTo of the channels of such a list.
struct SumOfLists : Operator<SumOfLists, "SumOfLists"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};

}  // namespace tenon::ops
