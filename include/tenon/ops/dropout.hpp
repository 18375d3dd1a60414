// Dropout.
#pragma once
#include <tenon/ops/random_call.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Drops elements at random and scales the rest:  y = x / (1 - p) with probability 1 - p, else 0
///
/// x           any shape; floating-point
/// rate        [] of float32: p in [0, 1), a run-time number
/// freezing    [] of float32, only from a cell: its nn::Freezing. After set_train(false) of a part of a network the
///             rate counts as 0
/// state       [2] of uint64: seed and step
/// derivative  the same call on dy: its stream draws the same mask, which is never stored
/// random      Philox with the key (seed, stream) and the counter (element, step)
/// source      Srivastava et al. 2014; MindSpore's Dropout
struct Dropout : Operator<Dropout, "Dropout"> {
  static constexpr bool float_parameters = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    if (!is_floating(in[0].dtype))
      error << "Dropout needs a floating-point operand, got " << tenon::name(in[0].dtype) << " " << in[0];
    else if (in[1].count(1) != 1 || in[1].dtype != Dtype::float32)
      error << "Dropout needs its rate as one float32, got " << tenon::name(in[1].dtype) << " " << in[1];
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    if (d.operands() == 4) {
      d.flows_to(0, d.call_same_stream<Dropout>({}, d.gradient(), d.operand(1), d.operand(2), d.operand(3)));
      d.no_gradient(2);
    } else d.flows_to(0, d.call_same_stream<Dropout>({}, d.gradient(), d.operand(1), d.operand(2)));
    d.no_gradient(1);
  }
};
TENON_EXACT_END

/// Drops elements of x with probability `rate`, in training and in evaluation; nn::Dropout does nothing in evaluation.
/// The mask depends on the seed, the step, the cell that makes the call, and the number of earlier random calls of this
/// cell in the step, in the order of the trace (graph/ir/streams.hpp). Outside of a network each call is a
/// separate step.
constexpr auto dropout(const Operand auto& x, const Operand auto& rate,
                       std::source_location at = std::source_location::current()) {
  return random_call<Dropout>(at, x, rate);
}

}  // namespace tenon::ops
