// The operators that clip the gradients of a training by their norm.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/guard.hpp>

namespace tenon::inline TENON_ABI {

/// Where in the training state the largest norm, or the largest element, that a clipped gradient may have is found
/// (float).
inline constexpr long gradient_clip_state = 32;

namespace ops {
/// Adds the squares of all elements of a gradient (operand 1) to a sum (operand 0, float64). Not for users.
struct AddSquares : Operator<AddSquares, "AddSquares"> {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
/// The sum of the squares of all elements, in float64. Not for users.
struct SumOfSquares : Operator<SumOfSquares, "SumOfSquares"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes&, const NoConfig&, Sentence&) { return {{}, 0, Dtype::float64}; }
};
/// The numbers of an update (operand 0) with what gradients are multiplied with (nn::Numbers::gradient_scale) made
/// smaller, if need be, so that a sum of squares (operand 1) of gradients belongs to a norm of at most operand 2. Not
/// for users.
struct ClipNumbers : Operator<ClipNumbers, "ClipNumbers"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  TENON_DEVICE static void renew(double squares, float most, float* number) {
    const double scale = static_cast<double>(number[2]), norm = math::sqrt(squares) * scale;
    if (!(norm <= static_cast<double>(most)))  // a NaN makes all gradients NaN
      number[2] = static_cast<float>(scale * static_cast<double>(most) / norm);
  }
};
}  // namespace ops

}  // namespace tenon
