// RoundSteps, made by tenon-import of round_steps.onnx; round_steps.safetensors has its weights.
#pragma once
#include <tenon/tenon.hpp>

namespace round_steps {
using namespace tenon;

struct RoundSteps : nn::Cell<RoundSteps> {
  nn::LSTM<4, 6> lstm;
  nn::Dense<6, 2> fc;

  // input_0: [n, 5, 4] -> [n, 5, 2]
  constexpr auto construct(auto input_0) const {
    auto [y, h, c] = lstm(input_0);  // [n, 5, 6]
    return fc(y);
  }
};

}  // namespace round_steps
