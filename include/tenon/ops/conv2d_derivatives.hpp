// The derivatives of a convolution and its two gradients, which are each other's: y = x * w is linear in both.
#pragma once
#include <tenon/graph/ir/derivative.hpp>
#include <tenon/ops/conv2d_shape.hpp>

namespace tenon::inline TENON_ABI::ops::detail {

/// Of y = Convolve(x, w), dx = Input(w, dy), and dw = Weight(x, dy).
template <class Convolve, class Input, class Weight>
struct ConvDerivatives {
  static constexpr void of_convolve(Derivative& d) {
    d.flows_to(0, d.call_with<Input>(extents<Convolve>(d, d.type(0)), d.operand(1), d.gradient()));
    d.flows_to(1, d.call_with<Weight>(extents<Convolve>(d, d.type(1)), d.operand(0), d.gradient()));
  }
  static constexpr void of_input(Derivative& d) {
    d.flows_to(0, d.call_with<Weight>(extents<Input>(d, d.type(0)), d.gradient(), d.operand(1)));
    d.flows_to(1, d.call_with<Convolve>(extents<Input>(d, d.type(1)), d.gradient(), d.operand(0)));
  }
  static constexpr void of_weight(Derivative& d) {
    d.flows_to(0, d.call_with<Input>(extents<Weight>(d, d.type(0)), d.gradient(), d.operand(1)));
    d.flows_to(1, d.call_with<Convolve>(extents<Weight>(d, d.type(1)), d.operand(0), d.gradient()));
  }

 private:
  // The settings of Op's call for a result of `like`'s height and width.
  template <class Op>
  static constexpr Conv2dAttributes extents(Derivative& d, const TensorType& like) {
    return with_extents(d.config<Op>(), like[2], like[3]);
  }
};

}  // namespace tenon::ops::detail
