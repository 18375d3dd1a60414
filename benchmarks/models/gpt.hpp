// A decoder-only transformer with pre-norm blocks, to measure what a deep model costs to compile and to run.
#pragma once
#include <tenon/tenon.hpp>

namespace models {
using namespace tenon;

template <int Width>
using Norm = nn::LayerNorm<Shape<Width>, nn::LayerNormConfig{.epsilon = 1e-5f}>;

template <int Width, int Heads>
struct Block : nn::Cell<Block<Width, Heads>> {
  Norm<Width> norm1, norm2;
  nn::MultiHeadAttention<Width, Heads, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<Width, 4 * Width> up;
  nn::Dense<4 * Width, Width> down;

  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};

template <int Layers, int Length, int Width, int Heads, int Vocabulary>
struct Gpt : nn::Cell<Gpt<Layers, Length, Width, Heads, Vocabulary>> {
  nn::Embedding<Vocabulary, Width, nn::EmbeddingConfig{}, nn::Normal{0.02f}> token;
  nn::PositionalEmbedding<Length, Width> position;
  nn::CellList<Block<Width, Heads>, Layers> blocks;
  Norm<Width> norm;
  nn::Dense<Width, Vocabulary> head;

  // tokens: [n, Length] int32
  constexpr auto construct(auto tokens) const { return head(norm(blocks(position(token(tokens))))); }
};

using Gpt12 = Gpt<12, 64, 128, 4, 65>;

}  // namespace models
