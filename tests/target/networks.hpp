// A small language model, and data for it and for the networks of support/models.hpp.
#pragma once
#include <vector>

#include <tenon/tenon.hpp>

#include "../support/models.hpp"

namespace target_test {

using namespace tenon;

/// A small GPT: token and position, one causal block, a head per position.
struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<16>> norm1, norm2;
  nn::MultiHeadAttention<16, 2, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<16, 32> up;
  nn::Dense<32, 16> down;
  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};
struct LanguageModel : nn::Cell<LanguageModel> {
  nn::Embedding<11, 16> token;
  nn::PositionalEmbedding<6, 16> position;
  Block block;
  nn::Dense<16, 11> head;
  constexpr auto construct(auto text) const { return head(block(position(token(text)))); }
};

/// Images with labels, and texts whose labels are as many tokens: the same numbers in each call.
template <int... extents>
auto images(int rows, int batch, int classes) {
  Random random(8);
  std::vector<float> x(std::size_t(rows) * std::size_t((extents * ...)));
  std::vector<std::int32_t> y(std::size_t(rows), 0);
  for (float& pixel : x) pixel = random.uniform(-1, 1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i * i) % classes;
  return dataset::from_arrays(dataset::column<Shape<extents...>>(std::move(x)),
                              dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(batch);
}
inline auto texts(int rows, int batch) {
  std::vector<std::int32_t> x(std::size_t(rows) * 6), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = int(i * i % 11), y[i] = int((i + 1) * (i + 1) % 11);
  return dataset::from_arrays(dataset::column<Shape<6>>(std::move(x)), dataset::column<Shape<6>>(std::move(y))) |
         dataset::batch(batch);
}

}  // namespace target_test
