// The operators for the gradient of a maximum over windows if the fuse pass joins the maximum to a convolution.
#pragma once
#include <tenon/graph/pass/fuse_max_pool.hpp>
#include <tenon/ops/argmax_lists.hpp>

namespace tenon::inline TENON_ABI::ops {

/// MaxPool2dGrad with ReluGrad after it: dy at the place of each window's argmax, unless that is not greater than 0.
/// Operands: argmaxes, dy. Only graphs contain it.
struct MaxPoolSpread : Operator<MaxPoolSpread, "MaxPoolSpread"> {
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    TensorType x = in[0];
    x.extent[2] *= 2, x.extent[3] *= 2;
    return x;
  }
};

}  // namespace tenon::ops
