// Softmax along an axis.
#pragma once
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The axis of a softmax, and the shape rule that its operators share.
struct SoftmaxAxis {
  int axis = -1;
};
template <class Op, FixedString Name>
struct AlongAxis : Operator<Op, Name> {
  using Config = SoftmaxAxis;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    if (normalized_axis(c.axis, in[0].rank) < 0)
      error << Op::name << " got the axis " << c.axis << " for " << in[0] << " of rank " << in[0].rank;
    else if (!is_floating(in[0].dtype))
      error << Op::name << " needs a floating-point operand, got " << tenon::name(in[0].dtype) << " " << in[0];
    return in[0];
  }
};
/// The axis as the mask of a reduction that keeps it.
constexpr ReduceAxes kept_axis(const SoftmaxAxis& c, int rank) { return {1 << normalized_axis(c.axis, rank), 1, 0}; }

/// y (dy - sum of y dy), along the axis. Operands: y, dy. Not for users.
struct SoftmaxGrad : AlongAxis<SoftmaxGrad, "SoftmaxGrad"> {
  // With s = sum(y g) and h the gradient of the result: to g flows y (h - sum(y h)), to y flows h (g - s) - g sum(y h).
  static constexpr void derivative(Derivative& d) {
    const auto c = d.config<SoftmaxGrad>();
    const int y = d.operand(0), g = d.operand(1), h = d.gradient();
    const ReduceAxes axes = kept_axis(c, d.type(0).rank);
    const int s = d.call_with<ReduceSum>(axes, d.call<Mul>(y, g)), t = d.call_with<ReduceSum>(axes, d.call<Mul>(y, h));
    d.flows_to(0, d.call<Sub>(d.call<Mul>(h, d.call<Sub>(g, s)), d.call<Mul>(g, t)));
    d.flows_to(1, d.call_with<SoftmaxGrad>(c, y, h));
  }
};

/// Softmax along an axis:  y = exp(x - max) / sum of exp(x - max)
///
/// x           any shape of rank 1 or more; floating-point
/// derivative  from y
/// order       along the last axis 16 interleaved sums, along others ascending; 16-bit floats in float
/// source      MindSpore's Softmax
struct Softmax : AlongAxis<Softmax, "Softmax"> {
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<SoftmaxGrad>(d.config<Softmax>(), d.result(), d.gradient()));
  }
};

/// Softmax along an axis, the last one by default: `softmax(scores)`, `softmax<1>(x)`.
template <int axis = -1>
constexpr auto softmax(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Softmax, SoftmaxAxis{axis}>(at, x);
}

}  // namespace tenon::ops
