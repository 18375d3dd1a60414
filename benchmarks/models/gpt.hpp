// A decoder-only transformer with pre-norm blocks, to measure what a deep model costs to compile and to run.
#pragma once
#include <tenon/tenon.hpp>

namespace models {
using namespace tenon;

template <int Width, int Heads>
struct Attention : nn::Cell<Attention<Width, Heads>> {
  nn::Dense<Width, Width> query, key, value, projection;

  // [n, T, Width] -> [n, Heads, T, Width / Heads]
  template <class X>
  static constexpr auto heads(const X& x) {
    if constexpr (is_broken<X>) return x;
    else return transpose<0, 2, 1, 3>(reshape<Shape<X::dims[0], X::dims[1], Heads, Width / Heads>>(x));
  }
  template <class X>
  constexpr auto construct(const X& x) const {
    constexpr float scale = Heads * 16 == Width ? 0.25f : 0.17677669f;  // 1 / sqrt(Width / Heads) for 16 and 32
    auto scores = causal_mask(matmul<Transposed::second>(heads(query(x)), heads(key(x))) * scale);
    return projection(reshape<Shape<X::dims[0], X::dims[1], Width>>(transpose<0, 2, 1, 3>(matmul(softmax(scores), heads(value(x))))));
  }
};

template <int Width, int Heads>
struct Block : nn::Cell<Block<Width, Heads>> {
  nn::LayerNorm<Shape<Width>> norm1, norm2;
  Attention<Width, Heads> attention;
  nn::Dense<Width, 4 * Width> up;
  nn::Dense<4 * Width, Width> down;

  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};

template <int Layers, int Length, int Width, int Heads, int Vocabulary>
struct Gpt : nn::Cell<Gpt<Layers, Length, Width, Heads, Vocabulary>> {
  nn::Embedding<Vocabulary, Width> token;
  Parameter<float, Shape<Length, Width>, nn::Normal{0.02f}> position;
  nn::CellList<Block<Width, Heads>, Layers> blocks;
  nn::LayerNorm<Shape<Width>> norm;
  nn::Dense<Width, Vocabulary> head;

  constexpr auto construct(auto tokens) const { return head(norm(blocks(token(tokens) + position))); }  // tokens: [n, Length] int32
};

using Gpt12 = Gpt<12, 64, 128, 4, 65>;

}  // namespace models
