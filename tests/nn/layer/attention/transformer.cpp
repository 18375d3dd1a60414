// Attention with masks and weights, layers of transformers, BiDense, TimeDistributed.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include "../../support.hpp"

#include <tenon/more.hpp>

#include "../../../support/both_modes.hpp"
#include "../../../support/gradient_check.hpp"

using namespace cells;
using support::both_modes;
using support::check_gradients;
using support::random_tensor;
using support::same_bits;
using support::tensor_of;

namespace {
template <class A, class B>
double distance(const A& a, const B& b) {
  double worst = 0;
  for (long i = 0; i < a.count(); ++i) worst = std::fmax(worst, std::fabs(double(a.data()[i]) - double(b.data()[i])));
  return worst;
}
constexpr AttentionConfig two_heads{.heads = 2};

struct Translator : nn::Cell<Translator> {
  static constexpr nn::TransformerConfig config{.dim_feedforward = 16, .dropout = 0.1f, .causal = true};
  nn::TransformerEncoderLayer<8, 2, nn::TransformerConfig{.dim_feedforward = 16, .norm_first = true}> encoder;
  nn::TransformerDecoderLayer<8, 2, config> decoder;
  nn::Dense<8 * 4, 3> head;
  constexpr auto construct(auto x) const { return head(flatten(decoder(x, encoder(x)))); }
};
}  // namespace

TEST_CASE("masked_attention: without a mask it is attention; weights of a query add up to 1") {
  const auto q = random_tensor<float, Shape<dyn, 5, 8>>(1), k = random_tensor<float, Shape<dyn, 5, 8>>(2),
             v = random_tensor<float, Shape<dyn, 5, 8>>(3);
  const auto y =
      both_modes([](auto a, auto b, auto c) { return std::get<0>(masked_attention<two_heads>(a, b, c)); }, q, k, v);
  CHECK(distance(y.result, attention<two_heads>(q, k, v)) < 1e-6);
  const auto weights = std::get<1>(masked_attention<two_heads>(q, k, v));
  const auto sums = reduce_sum<2>(weights);
  for (const float sum : sums.values()) CHECK(sum == doctest::Approx(1));
  constexpr AttentionConfig causal{.heads = 2, .causal = true};
  CHECK(distance(std::get<0>(masked_attention<causal>(q, k, v)), attention<causal>(q, k, v)) < 1e-6);
  const auto later =
      Tensor<bool, Shape<5, 5>>::from({0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  const auto masked =
      both_modes([](auto a, auto b, auto c, auto m) { return std::get<0>(masked_attention<two_heads>(a, b, c, m)); }, q,
                 k, v, later);
  CHECK(distance(masked.result, attention<causal>(q, k, v)) < 1e-6);
}

TEST_CASE("masked_attention: keys that are padding have no weight; numbers are added to the scores") {
  const auto q = random_tensor<float, Shape<dyn, 3, 4>>(1, -1, 1, 2);
  const auto k = random_tensor<float, Shape<dyn, 4, 4>>(2, -1, 1, 2);
  const auto padding = tensor_of<bool, Shape<dyn, 1, 4>>({0, 0, 0, 1, 0, 0, 1, 1});
  const auto [y, weights] = masked_attention<two_heads>(q, k, k, padding);
  for (int query = 0; query < 3; ++query) {
    CHECK(weights.data()[query * 4 + 3] == 0);
    CHECK(weights.data()[(3 + query) * 4 + 2] == 0);
    CHECK(weights.data()[(3 + query) * 4 + 1] > 0);
  }
  const auto bias = Tensor<float, Shape<3, 4>>::from({0, 0, 0, -1e9f, 0, 0, 0, -1e9f, 0, 0, 0, -1e9f});
  CHECK(distance(slice<Part{}>(std::get<1>(masked_attention<two_heads>(q, k, k, bias))), weights) > 0);
  CHECK(std::get<1>(masked_attention<two_heads>(q, k, k, bias)).data()[3] == 0);
  const auto said = []<class Cell, class... Key>(Cell, Key...) {
    return Compiled<detail::Forward<Cell, Key...>>::sentence.view();
  };
  CHECK(
      (said(nn::MultiHeadAttention<4, 2, nn::MultiHeadAttentionConfig{.need_weights = true}>{},
            TypeKey<Dtype::float32, 3, 4>{})
           .find("Attention of 2 heads with a mask or weights needs q [n,T,F] and k, v [n,S,F]") != std::string::npos));
}

TEST_CASE("masked_attention: heads of queries that share keys and values") {
  const auto q = random_tensor<float, Shape<dyn, 5, 8>>(1);
  const auto k = random_tensor<float, Shape<dyn, 5, 4>>(2), v = random_tensor<float, Shape<dyn, 5, 4>>(3);
  constexpr AttentionConfig causal{.heads = 4, .causal = true};
  const auto y =
      both_modes([](auto a, auto b, auto c) { return std::get<0>(masked_attention<causal>(a, b, c)); }, q, k, v);
  CHECK(distance(y.result, attention<causal>(q, k, v)) < 1e-6);
}

TEST_CASE("masked_attention: gradients against central differences") {
  const auto q = random_tensor<double, Shape<1, 3, 4>>(1);
  const auto k = random_tensor<double, Shape<1, 2, 4>>(2), v = random_tensor<double, Shape<1, 2, 4>>(3);
  const auto mask = Tensor<bool, Shape<3, 2>>::from({0, 1, 0, 0, 1, 0});
  check_gradients([](auto a, auto b, auto c, auto m) { return std::get<0>(masked_attention<two_heads>(a, b, c, m)); },
                  q, k, v, mask);
  check_gradients([](auto a, auto b, auto c) { return std::get<1>(masked_attention<two_heads>(a, b, c)); }, q, k, v);
}

TEST_CASE("TransformerEncoderLayer and TransformerDecoderLayer: train with equal bits in both modes") {
  check_training<Translator, Shape<4, 8>>(20);
}

TEST_CASE("TransformerDecoderLayer: the parts in their order, masks, cross attention") {
  const nn::TransformerDecoderLayer<8, 2, nn::TransformerConfig{.dim_feedforward = 16, .dropout = 0}> layer;
  const auto x = random_tensor<float, Shape<dyn, 3, 8>>(1);
  const auto memory = random_tensor<float, Shape<dyn, 5, 8>>(2);
  const auto y = layer(x, memory);
  const auto a = layer.norm1(x + layer.self_attn(x));
  const auto b = layer.norm2(a + layer.multihead_attn(a, memory, memory));
  CHECK(same_bits(y, layer.norm3(b + layer.dense2(relu(layer.dense1(b))))));
  const auto nothing = Tensor<bool, Shape<3, 3>>::zeros();
  const auto none_of_memory = Tensor<bool, Shape<3, 5>>::zeros();
  CHECK(distance(layer(x, memory, nothing), y) < 1e-5);
  CHECK(distance(layer(x, memory, nothing, none_of_memory), y) < 1e-5);
}

TEST_CASE("BiDense: the formula, also with steps; TimeDistributed: a cell for each step") {
  const nn::BiDense<2, 3, 2> layer;
  const auto a = random_tensor<float, Shape<dyn, 2>>(1);
  const auto b = random_tensor<float, Shape<dyn, 3>>(2);
  const auto y = layer(a, b);
  for (int k = 0; k < 2; ++k) {
    double sum = double(layer.bias.values()[std::size_t(k)]);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        sum += double(a.data()[2 + i]) * double(layer.weight.values()[std::size_t((k * 2 + i) * 3 + j)]) *
               double(b.data()[3 + j]);
    CHECK(double(y.data()[2 + k]) == doctest::Approx(sum));
  }
  const nn::TimeDistributed<nn::BiDense<2, 3, 2>> unused;
  static_cast<void>(unused);
  const nn::TimeDistributed<nn::Conv2d<3, 4, 3>> video;
  const auto frames = random_tensor<float, Shape<dyn, 2, 3, 5, 6>>(1);
  const auto all = video(frames);
  static_assert(std::is_same_v<decltype(all), const Tensor<float, Shape<dyn, 2, 4, 5, 6>>>);
  CHECK(same_bits(ops::reshape<Shape<2 * dyn, 4, 5, 6>>(all),
                  video.layer(ops::reshape<Shape<2 * dyn, 3, 5, 6>>(frames))));
}
