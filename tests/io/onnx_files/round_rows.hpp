// RoundRows, made by tenon-import of round_rows.onnx; round_rows.safetensors has its weights.
#pragma once
#include <limits>

#include <tenon/more.hpp>

namespace round_rows {
using namespace tenon;

struct RoundRows : nn::Cell<RoundRows> {
  nn::Dense<4, 20> fc;
  nn::BatchNorm1d<20, nn::BatchNormConfig{.epsilon = 0.001f}> norm;
  Parameter<bool, Shape<20>, nn::Zero{}, false> table;
  Parameter<float, Shape<20>, nn::Zero{}> gamma;

  // input_0: [n, 4] -> [n, 20], [n, 1], [n, 20], [n, 20], [n]
  constexpr auto construct(auto input_0) const {
    auto x1 = norm(fc(input_0));                                                                   // [n, 20]
    auto [y, h] = topk<20>(x1);                                                                    // [n, 20]
    auto x2 = softmax(y);                                                                          // [n, 20]
    auto x3 = logical_or(cumsum<1>(x2) - x2 < 0.8f, table);                                        // [n, 20]
    auto x4 = reduce_min_keep<1>(select(x3, y, std::numeric_limits<float>::infinity()));           // [n, 1]
    auto [y2, h2] = topk<3>(x1);                                                                   // [n, 3]
    auto x5 = select(x1 < slice<1, Part{2, 3}>(y2), -std::numeric_limits<float>::infinity(), x1);  // [n, 20]
    auto x6 = x1 * (1 / sqrt(reduce_sum_square_keep<1>(x1) / 20 + 1e-06f)) * gamma;                // [n, 20]
    return std::tuple(x1 * (1 / sqrt(maximum(reduce_sum_square_keep<1>(x1), 1e-04f))),
                      sqrt(reduce_sum_square_keep<1>(x6)), x5,
                      select(x1 < x4, -std::numeric_limits<float>::infinity(), x1), cast<float>(argmax(x1)));
  }
};

}  // namespace round_rows
