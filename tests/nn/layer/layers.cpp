// Cells around one operator each: embedding, pooling, flatten, layer normalization, activations, MSE and L1 losses.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/nn/layer/activation.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/layer/flatten.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/layer/pool/avg_pool2d.hpp>
#include <tenon/nn/layer/pool/max_pool2d.hpp>
#include <tenon/nn/layer/sequential_cell.hpp>
#include <tenon/nn/loss/l1.hpp>
#include <tenon/nn/loss/mse.hpp>
#include <tenon/ops/reduce_mean.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

// Words to a class: the mean of their vectors, normalized.
struct Text : nn::Cell<Text> {
  nn::Embedding<20, 16, nn::EmbeddingConfig{.padding_idx = 0}, nn::Normal{1.0f}> words;
  nn::LayerNorm<Shape<16>> norm;
  nn::Dense<16, 3> fc;
  constexpr auto construct(auto ids) const { return fc(norm(ops::reduce_mean<1>(words(ids)))); }
};
auto sentences(long count) {
  std::vector<std::int32_t> ids, labels;
  Random random(3);
  for (long i = 0; i < count; ++i) {
    const auto label = std::int32_t(random.below(3));
    for (int k = 0; k < 5; ++k) ids.push_back(label * 6 + std::int32_t(random.below(7)));
    labels.push_back(label);
  }
  return dataset::from_arrays(dataset::column<Shape<5>>(std::move(ids)), dataset::column<Shape<>>(std::move(labels)));
}
using Images = nn::SequentialCell<nn::MaxPool2d<2, nn::Pool2dConfig{.stride = 2}>, nn::AvgPool2d<2>, nn::Flatten,
                                  nn::Dense<3 * 9, 8>, nn::Tanh, nn::Dense<8, 3>>;

template <class Cell, class... Keys>
std::string_view sentence() {
  return Compiled<detail::Forward<Cell, Keys...>>::sentence.view();
}
using Float = TypeKey<Dtype::float32, dyn, 4>;

}  // namespace

TEST_CASE("Embedding, LayerNorm, Dense: train with equal bits in both modes") {
  Trained first;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Text net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    Losses losses;
    model.train(10, sentences(60) | dataset::batch(16), losses);
    CHECK(losses.value.back() < losses.value.front() / 2);
    const Trained now{losses.value, bits(net)};
    if (mode == Mode::graph) first = now;
    CHECK(now == first);
  }
}

TEST_CASE("Dense: the bias stands for features, also where the input has axes before them") {
  nn::Dense<3, 4> net;
  net.init_parameters();
  const auto x =
      random_tensor<float, Shape<dyn, 4, 2, 3>>(5, -1, 1, 2);  // 4 rows and 4 features: no shape says which are meant
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    CHECK(same_bits(net(x), ops::reshape<Shape<dyn, 4, 2, 4>>(net(ops::reshape<Shape<8 * dyn, 3>>(x)))));
  }
}

TEST_CASE("Embedding: the padding row starts as zeros, the others do not") {
  Text net;
  net.init_parameters();
  const auto table = net.words.embedding_table.values();
  for (std::size_t i = 0; i < 16; ++i) CHECK(table[i] == 0);
  for (std::size_t i = 16; i < table.size(); ++i) CHECK(table[i] != 0);
  CHECK((sentence<nn::Embedding<20, 16>, Float>() ==
         "network: Gather needs numbers of int32 or int64, got float32 [n,4]"));
}

TEST_CASE("pooling, Flatten, and Tanh as cells: the operators, trained with equal bits in both modes") {
  const auto x = random_tensor<float, Shape<dyn, 3, 8, 8>>(1);
  CHECK(same_bits(nn::MaxPool2d<2>{}(x), ops::max_pool2d<2, 1>(x)));  // the default stride is 1
  CHECK(same_bits(nn::AvgPool2d<3, nn::Pool2dConfig{.stride = 0}>{}(x), ops::avg_pool2d<3>(x)));
  CHECK(same_bits(nn::Flatten{}(x), ops::flatten(x)));
  check_training<Images, Shape<3, 8, 8>>(20);
}

TEST_CASE("activations as cells are the functions") {
  const auto x = random_tensor<float, Shape<dyn, 8>>(1, -6, 6);
  CHECK(same_bits(nn::ReLU{}(x), ops::relu(x)));
  CHECK(same_bits(nn::Sigmoid{}(x), ops::sigmoid(x)));
  CHECK(same_bits(nn::Tanh{}(x), ops::tanh(x)));
  CHECK(same_bits(nn::GELU{}(x), ops::gelu(x)));
  CHECK(same_bits(nn::SiLU{}(x), ops::silu(x)));
  CHECK(same_bits(nn::Softplus{}(x), ops::softplus(x)));
}

TEST_CASE("MSELoss and L1Loss: values by hand, every reduction, and the sentence for shapes that do not fit") {
  const auto x = support::tensor_of<float, Shape<3>>({1, 2, 3}), y = support::tensor_of<float, Shape<3>>({1, 4, 2});
  CHECK(nn::MSELoss{}(x, y).item() == doctest::Approx(5.0 / 3));
  CHECK(nn::MSELoss<nn::Reduction::sum>{}(x, y).item() == 5);
  CHECK(nn::L1Loss{}(x, y).item() == 1);
  const auto each = nn::L1Loss<nn::Reduction::none>{}(x, y);
  CHECK((each.data()[0] == 0 && each.data()[1] == 2 && each.data()[2] == 1));
  const std::string_view said = sentence<nn::MSELoss<>, Float, TypeKey<Dtype::float32, dyn, 3>>();
  CHECK(said.find("MSELoss") != said.npos);
  CHECK(said.find("[n,4]") != said.npos);
  CHECK(said.find("[n,3]") != said.npos);
}

TEST_CASE("LayerNorm: a wrong width is named") {
  CHECK((sentence<nn::LayerNorm<Shape<5>>, Float>() ==
         "network: LayerNorm got an input [n,4], its gamma [5] normalizes the last axes, which must be [5]"));
}
