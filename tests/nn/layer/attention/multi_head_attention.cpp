// MultiHeadAttention and PositionalEmbedding: numbers of PyTorch, training with equal bits in both modes, what is
// refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include "../../support.hpp"

#include <tenon/nn/layer/attention/multi_head_attention.hpp>
#include <tenon/nn/layer/attention/positional_embedding.hpp>
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/optim/adam.hpp>
#include <tenon/nn/parameter_gradients.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>

using namespace cells;
using support::same_bits;

namespace {

// ---- a user's language model

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
struct Language : nn::Cell<Language> {
  nn::Embedding<11, 16> token;
  nn::PositionalEmbedding<12, 16> position;
  nn::CellList<Block, 2> blocks;
  nn::Dense<16, 11> head;
  constexpr auto construct(auto tokens) const { return head(blocks(position(token(tokens)))); }
};
// The next letter is the sum of the last two.
auto texts(long count) {
  std::vector<std::int32_t> x, y;
  Random random(3);
  for (long i = 0; i < count; ++i) {
    auto a = std::int32_t(random.below(11)), b = std::int32_t(random.below(11));
    for (int t = 0; t < 12; ++t) {
      const std::int32_t next = (a + b) % 11;
      x.push_back(b), y.push_back(next);
      a = b, b = next;
    }
  }
  return dataset::from_arrays(dataset::column<Shape<12>>(std::move(x)), dataset::column<Shape<12>>(std::move(y)));
}

// ---- the same numbers as in PyTorch: element i is ((37 i + 11 seed) mod 101 - 50) / 100

template <class Values>
void fill(Values values, int seed) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (float((int(i) * 37 + seed * 11) % 101) - 50) / 100;
}
template <class S>
auto filled(int seed, long n) {
  auto t = Tensor<float, S>::empty(n);
  fill(t.values(), seed);
  return t;
}
void fill_parameters(auto& attention) {
  attention.init_parameters();
  fill(attention.in_proj_weight.values(), 1);
  fill(attention.in_proj_bias.values(), 2);
  fill(attention.out_proj.weight.values(), 3);
  fill(attention.out_proj.bias.values(), 4);
}
template <std::size_t N>
void check_numbers(const float* found, const double (&expected)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    CAPTURE(i);
    CHECK(std::fabs(double(found[i]) - expected[i]) <= 2e-6 * (1 + std::fabs(expected[i])));
  }
}
using Causal = nn::MultiHeadAttention<12, 3, nn::MultiHeadAttentionConfig{.causal = true}>;
using X = Tensor<float, Shape<dyn, 7, 12>>;

template <class Cell, class... Keys>
std::string_view sentence() {
  return Compiled<detail::Forward<Cell, Keys...>>::sentence.view();
}

}  // namespace

TEST_CASE("causal self attention has the numbers of PyTorch 2, gradients too") {
  // m = torch.nn.MultiheadAttention(12, 3, batch_first=True), in double; y = m(x, x, x, is_causal=True); (y *
  // y).sum().backward()
  constexpr double first[]{0.208213,  -0.95099, 1.028079,  -0.418469, 0.470103,  0.056381,
                           -1.102822, 0.876247, -0.570301, -0.600223, -0.095451, -0.925495};
  constexpr double last[]{-0.132532076, -0.155099868, 0.554248549,  -0.650492721, 0.785930627,  -0.285031767,
                          -0.307599559, 0.401748858,  -0.802992412, 0.108928082,  -0.437531458, -0.627274625};
  constexpr double query[]{-0.714460579, 0.464928291, 0.36363477,   0.375471645, -0.0734482425, -0.174741764,
                           -0.162904889, 0.066185658, -0.337597006, 0.448390637, 0.40056729,    -0.875973539};
  constexpr double key[]{-0.198484137, 0.0795377722, -0.211574391, -0.187077141, 0.51418602,     -0.211574391,
                         -0.187077141, 0.492332603,  -0.198484137, 0.0621759415, -0.00789585391, -0.198484137};
  constexpr double value[]{1.49714323, 4.225027,    -6.01323442, 0.207076522, -3.84965442, -2.01056679,
                           4.20974415, -2.72605794, -1.30472411, 1.84822619,  -2.54878407, 2.69794352};
  constexpr double output[]{2.83117838, 3.33019978,  -2.98160973, 4.21345075, 1.92080823,  -6.1525089,
                            4.39412746, -1.29954135, -6.58527981, 4.2318451,  -4.06252852, 5.68233209};
  Causal attention;
  fill_parameters(attention);
  const X x = filled<Shape<dyn, 7, 12>>(5, 2);
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    const X y = attention(x);
    check_numbers(y.data() + 7 * 12, first);
    check_numbers(y.data() + 13 * 12, last);
    const auto gradients = std::get<1>(value_and_grad(
        [&](const auto& v) {
          const auto z = attention(v);
          return ops::reduce_sum(z * z);
        },
        attention)(x));
    const auto weight = gradients(attention.in_proj_weight);
    check_numbers(weight.data(), query);
    check_numbers(weight.data() + 13 * 12, key);
    check_numbers(weight.data() + 26 * 12, value);
    CHECK(gradients(attention.in_proj_bias).data()[1] == doctest::Approx(1.46907147).epsilon(1e-5));
    CHECK(gradients(attention.in_proj_bias).data()[35] == doctest::Approx(8.16918838).epsilon(1e-5));
    check_numbers(gradients(attention.out_proj.weight).data() + 5 * 12, output);
  }
}

TEST_CASE("attention of queries to other keys and values has the numbers of PyTorch 2") {
  constexpr double first[]{-0.118402548, -0.058266881, 0.354513699,  -0.432284641, 0.680322531,  -0.275479988,
                           -0.215344321, 0.197436259,  -0.589362081, 0.0887645938, -0.432557428, -0.551952111};
  constexpr double last[]{-0.245479018,  0.162214524,  0.25156619,   -0.549219391, 0.795248033,  -0.401656386,
                          0.00603715689, 0.0953888225, -0.705396758, 0.303306653,  -0.557833753, -0.431015787};
  nn::MultiHeadAttention<12, 3> attention;
  fill_parameters(attention);
  const X x = filled<Shape<dyn, 7, 12>>(5, 2);
  const auto z = filled<Shape<dyn, 5, 12>>(6, 2);
  const auto half = z * 0.5f;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    const X y = attention(x, z, half);
    check_numbers(y.data(), first);
    check_numbers(y.data() + 6 * 12, last);
    CHECK(support::same_bits(attention(x, x, x), attention(x)));
  }
}

TEST_CASE("a language model trains with equal bits in both modes") {
  Trained first;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Language net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01}};
    Losses losses;
    model.train(12, texts(64) | dataset::batch(16), losses);
    CHECK(losses.value.back() < losses.value.front() * 0.8);
    const Trained now{losses.value, bits(net)};
    if (mode == Mode::graph) first = now;
    CHECK(now == first);
  }
}

TEST_CASE("a position sees no later one") {
  Causal attention;
  fill_parameters(attention);
  X x = filled<Shape<dyn, 7, 12>>(5, 1);
  const X before = attention(x).copy();
  x.values()[4 * 12 + 3] = 9;  // position 4
  const X after = attention(x);
  CHECK(std::memcmp(before.data(), after.data(), 4 * 12 * sizeof(float)) == 0);
  CHECK(std::memcmp(before.data() + 4 * 12, after.data() + 4 * 12, 3 * 12 * sizeof(float)) != 0);
}

TEST_CASE("PositionalEmbedding adds the rows of its table, shorter texts the first of them") {
  nn::PositionalEmbedding<7, 12> position;
  position.init_parameters();
  fill(position.embedding_table.values(), 3);
  const X x = filled<Shape<dyn, 7, 12>>(5, 2);
  const auto y = position(x);
  const auto shorter = position(filled<Shape<dyn, 4, 12>>(5, 1));
  const auto table = position.embedding_table.values();
  for (std::size_t i = 0; i < 2 * 84; ++i) CHECK(y.data()[i] == x.data()[i] + table[i % 84]);
  for (std::size_t i = 0; i < 48; ++i) CHECK(shorter.data()[i] == x.data()[i] + table[i]);
}

TEST_CASE("sinusoidal positions, which no optimizer changes") {
  nn::PositionalEmbedding<30, 6, nn::PositionalEmbeddingConfig{.sinusoidal = true}> position;
  position.init_parameters();
  const auto table = position.embedding_table.values();
  CHECK(table[0] == 0);
  CHECK(table[1] == 1);
  CHECK(table[6 * 29] == doctest::Approx(std::sin(29.0)));
  CHECK(table[6 * 29 + 3] == doctest::Approx(std::cos(29 / std::pow(10000.0, 1 / 3.0))));
  CHECK(table[6 * 29 + 4] == doctest::Approx(std::sin(29 / std::pow(10000.0, 2 / 3.0))));
  CHECK(Structure<decltype(position)>::table.trainable == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  CHECK(sentence<Causal, TypeKey<Dtype::float32, dyn, 7, 13>>() ==
        "network: MatMul got rows of 13 [n,7,13], its weight [36,12] needs 12");
  CHECK(sentence<nn::PositionalEmbedding<7, 12>, TypeKey<Dtype::float32, dyn, 8, 12>>() ==
        "network: Add of [n,8,12] and [7,12]: the shapes do not broadcast");
}
