// RoundImage, made by tenon-import of round_image.onnx; round_image.safetensors has its weights.
#pragma once
#include <tenon/tenon.hpp>

namespace round_image {
using namespace tenon;

struct RoundImage : nn::Cell<RoundImage> {
  nn::Conv2d<1, 6, 5> conv;
  nn::BatchNorm2d<6> norm;
  Parameter<float, Shape<6, 1, 1>, nn::Zero{}> gamma, beta;
  nn::Dense<216, 10> fc;

  // input_0: [n, 1, 12, 12] -> [n, 10]
  constexpr auto construct(auto input_0) const {
    auto x1 = relu(norm(conv(input_0)));
    auto x2 = reshape<Shape<dyn, 2, 432>>(x1);
    auto x3 = reduce_mean_keep<2>(x2);
    auto x4 = x2 - x3;
    auto [part1, part2] = split<2, 2>(concat<2>(x3, 1 / sqrt(reduce_mean_keep<2>(x4 * x4) + 1e-05f)));
    auto x5 = reshape<Shape<dyn, 6, 12, 12>>((reshape<Shape<dyn, 2, 432>>(x1) - part1) * part2);
    return softmax(fc(flatten(max_pool2d<2>(x5 * gamma + beta))));
  }
};

}  // namespace round_image
