// A language model that keeps keys and values: the bits of the whole text, in both modes; what lists and checkpoints
// have of a cache.
#include <filesystem>

#include <doctest/doctest.h>

#include <tenon/more.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../../support/tensors.hpp"

using namespace tenon;

namespace {

constexpr int length = 12, width = 16, letters = 11;

struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, 2, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 2 * width> up;
  nn::Dense<2 * width, width> down;
  constexpr auto construct(auto x) const { return rest(x + attention(norm1(x))); }
  constexpr auto construct(auto x, auto at, const auto& cache) const {
    return rest(x + attention(norm1(x), at, cache));
  }
  constexpr auto rest(auto y) const { return y + down(gelu(up(norm2(y)))); }
};
using Encoder =
    nn::TransformerEncoderLayer<width, 2, nn::TransformerConfig{.dim_feedforward = 24, .dropout = 0, .causal = true}>;
template <class Layer>
struct Language : nn::Cell<Language<Layer>> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<Layer, 2> blocks;
  nn::Dense<width, letters> head;
  nn::CellList<nn::KeyValueCache<2, length, width>, 2> caches;
  constexpr auto construct(auto text) const { return head(blocks(position(token(text)))); }
  constexpr auto construct(auto text, auto at) const {
    auto x = position(token(text), at);
    for (int i = 0; i < 2; ++i) x = blocks[i](x, at, caches[i]);
    return head(x);
  }
};
struct Decoder : nn::Cell<Decoder> {
  nn::TransformerDecoderLayer<width, 2, nn::TransformerConfig{.dim_feedforward = 24, .dropout = 0, .causal = true}>
      layer;
  nn::KeyValueCache<2, length, width> cache;
  constexpr auto construct(auto x, auto memory) const { return layer(x, memory); }
  constexpr auto construct(auto x, auto memory, auto at) const { return layer(x, memory, at, cache); }
};

template <int tokens, class T, class S>
auto part(const Tensor<T, S>& x, std::initializer_list<long> first) {
  constexpr int row = S::dims.rank == 3 ? S::dims[2] : 1;
  using Part = std::conditional_t<S::dims.rank == 3, Shape<2, tokens, row>, Shape<2, tokens>>;
  auto y = Tensor<T, Part>::empty();
  for (long b = 0; b < 2; ++b)
    std::copy_n(x.data() + (b * S::dims[1] + first.begin()[b]) * row, tokens * row, y.data() + b * tokens * row);
  return y;
}
auto places(std::initializer_list<std::int64_t> at) { return support::tensor_of<std::int64_t, Shape<2>>(at); }
auto text() {
  auto x = Tensor<std::int32_t, Shape<2, length>>::empty();
  for (int i = 0; i < 2 * length; ++i) x.data()[i] = (i * i + 3 * i) % letters;
  return x;
}

template <class Net>
void compare() {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 2});
    const Net net;
    const auto all = net(text());
    CHECK(support::same_bits(net(part<4>(text(), {0, 0}), places({0, 0})), part<4>(all, {0, 0})));
    // the second text goes on from position 2: its prompt was shorter
    for (long t = 0; t < 8; ++t)
      CHECK(support::same_bits(net(part<1>(text(), {4 + t, 2 + t}), places({4 + t, 2 + t})),
                               part<1>(all, {4 + t, 2 + t})));
    CHECK(!support::same_bits(part<1>(all, {0, 0}), part<1>(all, {5, 5})));
  }
}

}  // namespace

TEST_CASE("a language model with caches gives the bits of the whole text") {
  compare<Language<Block>>();
  compare<Language<Encoder>>();
}

TEST_CASE("a decoder layer with a cache gives the bits of the whole sequence") {
  const auto x = support::random_tensor<float, Shape<2, length, width>>(1, -1, 1);
  const auto memory = support::random_tensor<float, Shape<2, 5, width>>(2, -1, 1);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 2});
    const Decoder net;
    const auto all = net(x, memory);
    for (long t = 0; t < length; t += 3)
      CHECK(support::same_bits(net(part<3>(x, {t, t}), memory, places({t, t})), part<3>(all, {t, t})));
  }
}

TEST_CASE("lists of parameters and checkpoints leave out a cache, a clone has a copy of it") {
  const ContextScope scope({.seed = 4});
  const Language<Block> net;
  const auto all = net(text());
  net(part<4>(text(), {0, 0}), places({0, 0}));
  for (const auto& [name, parameter] : net.parameters_dict()) CHECK(name.find("caches") == std::string::npos);
  CHECK(net.untrainable_params().empty());
  const auto copy = net.clone();
  CHECK(support::same_bits(copy(part<1>(text(), {4, 4}), places({4, 4})), part<1>(all, {4, 4})));

  const std::string file = (std::filesystem::temp_directory_path() / "tenon-key-value-cache.safetensors").string();
  save_checkpoint(net, file);
  const ContextScope other({.seed = 5});
  const Language<Block> loaded;
  load_checkpoint(file, loaded);
  std::filesystem::remove(file);
  CHECK(support::same_bits(loaded(text()), all));
}

TEST_CASE("a position beyond the table is one sentence") {
  const Language<Block> net;
  CHECK_THROWS_WITH_AS(net(part<1>(text(), {0, 0}), places({0, 12})),
                       doctest::Contains("Gather: index 12 at [1,0] is outside of"), ValueError);
}
