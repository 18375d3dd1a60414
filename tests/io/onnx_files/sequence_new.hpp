// Sequence, made by tenon-import of sequence_new.onnx; sequence_new.safetensors has its weights.
#pragma once
#include <tenon/tenon.hpp>

namespace sequence_new {
using namespace tenon;

struct Sequence : nn::Cell<Sequence> {
  nn::MultiHeadAttention<4, 2, nn::MultiHeadAttentionConfig{.causal = true}> own;
  nn::MultiHeadAttention<4, 1, nn::MultiHeadAttentionConfig{.has_bias = false}> cross;

  // x: [n, 3, 4], memory: [n, 2, 4] -> [n, 3, 4], [n, 4]
  constexpr auto construct(auto x, auto memory) const {
    auto x1 = x + own(x);  // [n, 3, 4]
    return std::tuple(x1 + cross(x1, memory, memory), squeeze<1>(slice<1, Part{.begin = -1}>(x1)));
  }
};

}  // namespace sequence_new
