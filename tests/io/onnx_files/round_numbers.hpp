// RoundNumbers, made by tenon-import of round_numbers.onnx; round_numbers.safetensors has its weights.
#pragma once
#include <tenon/more.hpp>

namespace round_numbers {
using namespace tenon;

struct RoundNumbers : nn::Cell<RoundNumbers> {
  Parameter<float, Shape<4>, nn::Zero{}> scale;

  // input_0: [n, 4] -> [n, 16], [n, 4], [n, 4], [n, 4]
  constexpr auto construct(auto input_0) const {
    auto x1 = leaky_relu(input_0, 0.3f);                                                // [n, 4]
    auto x2 = select(input_0 <= 0, 1 * (exp(input_0) - 1), input_0);                    // [n, 4]
    auto x3 = concat<1>(x1, zeros<Shape<dyn, 4>>(x1), full<Shape<dyn, 4>>(x1, 2), x2);  // [n, 16]
    auto x4 = sqrt(value_in(input_0, scale) * 2 + 1) * sign(floor(input_0)) + -0.0f;    // [n, 4]
    return std::tuple(x3, maximum(minimum(x4, -0.5f), 0.5f), fmod(input_0, 0.7f), logical_not(input_0 > x4));
  }
};

}  // namespace round_numbers
