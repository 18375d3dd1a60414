// Mlp, made by tenon-import of mlp_new.onnx; mlp_new.safetensors has its weights.
#pragma once
#include <tenon/tenon.hpp>

namespace mlp_new {
using namespace tenon;

struct Mlp : nn::Cell<Mlp> {
  nn::SequentialCell<nn::Dense<4, 8>, nn::ReLU, nn::Dense<8, 3>> net;

  // x: [n, 4] -> [n, 3]
  constexpr auto construct(auto x) const { return net(x); }
};

}  // namespace mlp_new
