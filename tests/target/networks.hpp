// A small language model, one with computed indices, and data for them and for the networks of support/models.hpp.
#pragma once
#include <string>
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

/// Rows of two tables, by numbers that the network computes: twice an argmax, and the first value of a sample.
struct TwoTables : nn::Cell<TwoTables> {
  nn::Dense<20, 8> near;
  Parameter<float, Shape<15, 16>, nn::Normal{0.5f}> table;
  nn::Dense<16, 4> head;
  Parameter<float, Shape<4, 4>, nn::Normal{0.5f}> bias;
  constexpr auto construct(auto x) const {
    const auto row = argmax(near(x));
    const auto y = head(gather(table, row + row));
    return y + gather(bias, cast<std::int32_t>(reduce_sum<1>(slice<1, Part{0, 1}>(x))));
  }
};
/// 36 rows in batches of 3, whose first value is 0 .. 3, or 77 in the row `wrong`.
inline auto indexed_rows(long wrong = -1) {
  std::vector<float> x(36 * 20);
  Random random(8);
  for (float& value : x) value = random.uniform(-1, 1);
  for (long i = 0; i < 36; ++i) x[std::size_t(i) * 20] = i == wrong ? 77.0f : float(i % 4);
  return dataset::from_arrays(dataset::column<Shape<20>>(std::move(x)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>(36, 1))) |
         dataset::batch(3);
}

/// The message of a training that throws ValueError, or nothing.
template <class Data, class M, class... Callbacks>
std::string message_of(M& model, const Data& data, Callbacks&... callbacks) {
  try {
    model.train(1, data, callbacks...);
  } catch (const ValueError& error) {
    return error.what();
  }
  return {};
}

}  // namespace target_test
