// The operators of adaptive maximum pooling with windows of several sizes.
#pragma once
#include <tenon/graph/ir/window_attributes.hpp>
#include <tenon/ops/gather_elements.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// dy at the place of each window's maximum. Operands: the places, which AdaptiveMaxPool has kept, and dy. Not for
/// users.
///
/// order       in row-major order of the windows, in float32 for 16-bit floats
struct AdaptiveMaxPoolGrad : Operator<AdaptiveMaxPoolGrad, "AdaptiveMaxPoolGrad"> {
  using Config = AdaptivePoolAttributes;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) { return image_of(in[1], c); }
  static constexpr void derivative(Derivative& d) {
    const TensorType places = d.type(0), dy = d.type(1), dx = image_of(dy, d.config<AdaptiveMaxPoolGrad>());
    const auto planes = [&](const TensorType& t, int node) {
      return d.call_with<Reshape>(detail::merged(t, 2, 4), node);
    };
    const int taken = d.call_with<GatherElements>({2}, planes(dx, d.gradient()), planes(places, d.operand(0)));
    d.no_gradient(0);
    d.flows_to(1, d.call_with<Reshape>(Reshape::to(dy), taken));
  }

 private:
  static constexpr TensorType image_of(TensorType y, const Config& c) {
    y.extent[2] = c.h, y.extent[3] = c.w;
    return y;
  }
};

/// The largest element of each of [oh, ow] windows that cover an image as evenly as possible. Of equal ones the first
/// one in row-major order, of several NaN the last one.
///
/// x           [n, C, H, W]; floating-point or integer
/// result      [n, C, oh, ow]
/// derivative  dy to the argmax, of which pixel of the plane, h W + w, is kept
/// source      MindSpore's and PyTorch's AdaptiveMaxPool2d
struct AdaptiveMaxPool : Operator<AdaptiveMaxPool, "AdaptiveMaxPool2D"> {
  using Config = AdaptivePoolAttributes;
  static constexpr bool per_sample = true;
  static constexpr int returns = 1;
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType y = in[0];
    y.extent[2] = c.oh, y.extent[3] = c.ow;
    return {y, y.with(Dtype::int32)};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<AdaptiveMaxPoolGrad>(d.config<AdaptiveMaxPool>(), d.result(1), d.gradient()));
  }
};

}  // namespace tenon::ops
