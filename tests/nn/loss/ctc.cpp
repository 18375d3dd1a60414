// CTCLoss as a cell: reductions, gradients, half precision, and a network that learns to spell with it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/nn/loss/ctc.hpp>
#include <tenon/ops/log_softmax.hpp>

#include "support.hpp"

using namespace losses;

namespace {
using Labels = Tensor<std::int32_t, Shape<dyn>>;
template <class Loss>
struct OfLogits {
  constexpr auto operator()(const auto& x, const auto&... labels) const { return Loss{}(log_softmax(x), labels...); }
};
const auto logits = random_tensor<double, Shape<dyn, 6, 4>>(1, -2, 2, 3);
const auto targets = tensor_of<std::int32_t, Shape<dyn, 3>>({1, 2, 3, 2, 2, 0, 0, 0, 0});
const Labels frames = values<std::int32_t>({6, 5, 4}), lengths = values<std::int32_t>({3, 2, 0});

template <class Loss>
void check_reduction() {
  check_gradients(OfLogits<Loss>{}, logits, targets, frames, lengths);
  both_modes(OfLogits<Loss>{}, logits, targets, frames, lengths);
}
}  // namespace

TEST_CASE("CTCLoss: the mean is that of losses per label; a target of no labels counts as one of one") {
  const auto x = log_softmax(logits);
  const auto each = nn::CTCLoss<Reduction::none>{}(x, targets, frames, lengths);
  CHECK(bit_equal(each, ctc_loss(x, targets, frames, lengths)));
  const auto loss = each.values();
  CHECK(nn::CTCLoss<Reduction::sum>{}(x, targets, frames, lengths).item() ==
        doctest::Approx(loss[0] + loss[1] + loss[2]));
  CHECK(nn::CTCLoss{}(x, targets, frames, lengths).item() ==
        doctest::Approx((loss[0] / 3 + loss[1] / 2 + loss[2]) / 3));
  check_reduction<nn::CTCLoss<>>();
  check_reduction<nn::CTCLoss<Reduction::sum>>();
  check_reduction<nn::CTCLoss<Reduction::none, nn::CTCConfig{.blank = 3, .zero_infinity = true}>>();
}

TEST_CASE("CTCLoss: 16-bit log-probabilities give the loss of their values") {
  const auto half = ops::cast<float16>(log_softmax(logits));
  const auto wide = ops::cast<float>(half);
  const auto y = both_modes(LossCall<nn::CTCLoss<Reduction::none>>{}, half, targets, frames, lengths).result;
  const auto expected = nn::CTCLoss<Reduction::none>{}(wide, targets, frames, lengths);
  for (std::size_t i = 0; i < 3; ++i) CHECK(float(y.values()[i]) == float(float16(expected.values()[i])));
}

TEST_CASE("CTCLoss: what does not fit, and a call without lengths") {
  using X = Tensor<float, Shape<dyn, 6, 4>>;
  using Targets = Tensor<std::int32_t, Shape<dyn, 3>>;
  CHECK((sentence<nn::CTCLoss<>, X, Targets, Labels, Targets>() ==
         "network: CTCLoss got log-probabilities [n,6,4] and lengths [n,3], which must be [n]"));
  CHECK((sentence<nn::CTCLoss<Reduction::sum, nn::CTCConfig{.blank = -1}>, X, Targets, Labels, Labels>() ==
         "network: CTCLoss got the blank -1, log-probabilities [n,6,4] have classes 0 .. 3"));
  CHECK((sentence<nn::CTCLoss<>, X, Targets>() == "network: CTCLoss takes 4 arguments, got 2"));
}

namespace {
/// Reads 12 frames of 4 numbers, and spells the labels in them.
struct Speller : nn::Cell<Speller> {
  nn::Dense<4, 16> fc1;
  nn::Dense<16, 4> fc2;
  nn::CTCLoss<Reduction::mean, nn::CTCConfig{.blank = 3}> loss;
  constexpr auto construct(auto x, auto targets, auto frames, auto lengths) const {
    return loss(log_softmax(fc2(relu(fc1(x)))), targets, frames, lengths);
  }
};
/// Words of three letters, each of which stands for two or three frames of its own pattern.
auto words(long count) {
  std::vector<float> x;
  std::vector<std::int32_t> targets, frames, lengths;
  Random random(5);
  for (long i = 0; i < count; ++i) {
    std::vector<int> spoken;
    for (int k = 0; k < 3; ++k) {
      targets.push_back(std::int32_t(random.below(3)));
      for (std::uint32_t t = 0; t < 2 + random.below(2); ++t) spoken.push_back(targets.back());
      spoken.push_back(3);
    }
    frames.push_back(std::int32_t(spoken.size()));
    lengths.push_back(3);
    spoken.resize(12, 3);
    for (const int letter : spoken)
      for (int k = 0; k < 4; ++k) x.push_back(float(letter == k) + random.uniform(-0.25f, 0.25f));
  }
  return dataset::from_arrays(
      dataset::column<Shape<12, 4>>(std::move(x)), dataset::column<Shape<3>>(std::move(targets)),
      dataset::column<Shape<>>(std::move(frames)), dataset::column<Shape<>>(std::move(lengths)));
}
cells::Trained trained(Mode mode, int threads) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Speller net;
  Model model{net, NoLoss{}, cells::momentum(0.2f)};
  cells::Losses seen;
  model.train(15, words(30) | dataset::batch(8), seen);
  return {seen.value, cells::bits(net)};
}
}  // namespace

TEST_CASE("CTCLoss: a network learns to spell, with equal bits in both modes and on two threads") {
  const auto graph = trained(Mode::graph, 1);
  CHECK(graph == trained(Mode::pynative, 1));
  CHECK(graph == trained(Mode::graph, 2));
  CHECK(graph == trained(Mode::pynative, 2));
  CHECK(graph.losses.back() < graph.losses.front() / 5);
}
