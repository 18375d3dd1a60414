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
    auto x1 = relu(norm(conv(input_0)));                                              // [n, 6, 12, 12]
    auto x2 = reshape<Shape<dyn, 2, 432>>(x1);                                        // [n, 2, 432]
    auto x3 = reduce_mean_keep<2>(x2);                                                // [n, 2, 1]
    auto x4 = x2 - x3;                                                                // [n, 2, 432]
    auto x5 = concat<2>(x3, 1 / sqrt(reduce_mean_keep<2>(x4 * x4) + 1e-05f));         // [n, 2, 2]
    auto x6 = reshape<Shape<dyn, 2, 432>>(x1) - slice<2, Part{0, 1}>(x5);             // [n, 2, 432]
    auto x7 = reshape<Shape<dyn, 6, 12, 12>>(x6 * slice<2, Part{1, 2}>(x5)) * gamma;  // [n, 6, 12, 12]
    return softmax(fc(flatten(max_pool2d<2>(x7 + beta))));
  }
};

}  // namespace round_image
