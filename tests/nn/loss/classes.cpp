// Losses of class numbers: negative log-likelihood, cross entropy, focal loss; weights, smoothing, ignored labels.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <array>
#include <cmath>

#include "../support.hpp"

#include <tenon/nn/loss/cross_entropy.hpp>
#include <tenon/nn/loss/focal.hpp>
#include <tenon/nn/loss/nll.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/softmax.hpp>

#include "support.hpp"

using namespace losses;

namespace {
using nn::CrossEntropyConfig;
using Rows = Tensor<double, Shape<dyn, 3>>;
using Labels = Tensor<std::int32_t, Shape<dyn>>;
const Rows logits = random_tensor<double, Shape<dyn, 3>>(1, -2, 2, 4);
const Labels labels = values<std::int32_t>({2, 0, 1, 2}), some = values<std::int32_t>({2, -100, 1, 2});

struct PerClass {
  using shape = Shape<3>;
  static constexpr float values[]{1, 0.5f, 4};
};
constexpr CrossEntropyConfig smooth{.label_smoothing = 0.25f}, ignoring{.ignore_index = -100},
    both{.label_smoothing = 0.25f, .ignore_index = -100};

/// The definition of cross entropy with weights, smoothing, and ignored labels, in plain loops.
struct Expected {
  std::vector<double> loss;
  double weight = 0;
  double sum() const {
    double total = 0;
    for (const double one : loss) total += one;
    return total;
  }
};
Expected expected(const Rows& x, const Labels& label, bool weights, double smoothing) {
  Expected e;
  for (std::size_t row = 0; row < label.values().size(); ++row) {
    double total = 0, loss = 0;
    for (std::size_t k = 0; k < 3; ++k) total += std::exp(x.values()[row * 3 + k]);
    const int right = label.values()[row];
    for (int k = 0; right >= 0 && k < 3; ++k) {
      const double target = (k == right ? 1 - smoothing : 0) + smoothing / 3;
      const double weight = weights ? double(PerClass::values[k]) : 1;
      loss -= weight * target * (x.values()[row * 3 + std::size_t(k)] - std::log(total));
      if (k == right) e.weight += weight;
    }
    e.loss.push_back(loss);
  }
  return e;
}
template <CrossEntropyConfig config, class Weight>
void check_entropy(const Labels& label) {
  const Expected e = expected(logits, label, nn::has_weight<Weight>, double(config.label_smoothing));
  const auto none = nn::CrossEntropyLoss<Reduction::none, config, Weight>{}(logits, label);
  for (std::size_t i = 0; i < e.loss.size(); ++i) CHECK(none.values()[i] == doctest::Approx(e.loss[i]).epsilon(1e-6));
  CHECK((nn::CrossEntropyLoss<Reduction::sum, config, Weight>{}(logits, label).item()) ==
        doctest::Approx(e.sum()).epsilon(1e-6));
  CHECK((nn::CrossEntropyLoss<Reduction::mean, config, Weight>{}(logits, label).item()) ==
        doctest::Approx(e.sum() / e.weight).epsilon(1e-6));
  check_loss<nn::CrossEntropyLoss<Reduction::mean, config, Weight>>(logits, label);
  check_loss<nn::CrossEntropyLoss<Reduction::none, config, Weight>>(logits, label);
}
template <Reduction reduction>
using Entropy = nn::CrossEntropyLoss<reduction, both, PerClass>;
template <Reduction reduction>
using Likelihood = nn::NLLLoss<reduction>;
}  // namespace

TEST_CASE("CrossEntropyLoss: without settings SoftmaxCrossEntropyWithLogits, bit by bit") {
  CHECK(bit_equal(nn::CrossEntropyLoss{}(logits, labels), nn::SoftmaxCrossEntropyWithLogits{}(logits, labels)));
  const auto shares = softmax(random_tensor<double, Shape<dyn, 3>>(5, -1, 1, 4));
  CHECK(bit_equal(nn::CrossEntropyLoss{}(logits, shares), nn::SoftmaxCrossEntropyWithLogits{}(logits, shares)));
}

TEST_CASE("CrossEntropyLoss: weights, smoothing, ignored labels, and all of them, against the definition") {
  check_entropy<CrossEntropyConfig{}, nn::NoWeight>(labels);
  check_entropy<CrossEntropyConfig{}, PerClass>(labels);
  check_entropy<smooth, nn::NoWeight>(labels);
  check_entropy<smooth, PerClass>(labels);
  check_entropy<ignoring, nn::NoWeight>(some);
  check_entropy<ignoring, PerClass>(some);
  check_entropy<both, PerClass>(some);
  check_entropy<both, PerClass>(labels);
}

TEST_CASE("CrossEntropyLoss: distributions are the class numbers that they stand for; their mean is over samples") {
  const auto certain = ops::one_hot<3, double>(labels);
  const auto numbers = nn::CrossEntropyLoss<Reduction::none, smooth, PerClass>{}(logits, labels);
  const auto shares = nn::CrossEntropyLoss<Reduction::none, smooth, PerClass>{}(logits, certain);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(shares.values()[i] == doctest::Approx(numbers.values()[i]).epsilon(1e-6));
    sum += shares.values()[i];
  }
  const nn::CrossEntropyLoss<Reduction::mean, smooth, PerClass> mean;
  CHECK(mean(logits, certain).item() == doctest::Approx(sum / 4));
  both_modes(LossCall<nn::CrossEntropyLoss<Reduction::mean, smooth, PerClass>>{}, logits, certain);
}

TEST_CASE("CrossEntropyLoss: no labels left, infinite logits, labels that are no class") {
  const auto out = Labels::full(-100, 4);
  CHECK(std::isnan(nn::CrossEntropyLoss<Reduction::mean, ignoring>{}(logits, out).item()));
  CHECK(nn::CrossEntropyLoss<Reduction::sum, ignoring>{}(logits, out).item() == 0);
  const auto x = tensor_of<float, Shape<dyn, 3>>({0, -infinity, 0, -infinity, 0, 0});
  const auto outcome = both_modes(LossCall<nn::CrossEntropyLoss<Reduction::mean, ignoring>>{}, x,
                                  values<std::int32_t>({2, -100}));  // an ignored row may cost anything
  CHECK(outcome.result.item() == doctest::Approx(std::log(2.0)));
  for (std::size_t i = 3; i < 6; ++i) CHECK(std::get<0>(outcome.gradient).values()[i] == 0);
  CHECK_THROWS_AS(nn::CrossEntropyLoss{}(logits, some), ValueError);
  CHECK_THROWS_AS((nn::CrossEntropyLoss<Reduction::mean, smooth>{}(logits, some)), ValueError);
  CHECK_THROWS_AS((nn::CrossEntropyLoss<Reduction::mean, ignoring>{}(logits, values<std::int32_t>({0, 1, 2, 3}))),
                  ValueError);
  check_empty<Entropy, Rows, Labels>();
}

TEST_CASE("NLLLoss: of log_softmax it is CrossEntropyLoss; other classes do not matter") {
  const auto x = log_softmax(logits);
  const auto check = [&]<class Nll, class Entropy>(Nll nll, Entropy entropy, const Labels& label) {
    const auto y = nll(x, label), e = entropy(logits, label);
    for (std::size_t i = 0; i < y.values().size(); ++i) CHECK(y.values()[i] == doctest::Approx(e.values()[i]));
    check_loss<Nll>(x, label);
  };
  check(nn::NLLLoss{}, nn::CrossEntropyLoss{}, labels);
  check(nn::NLLLoss<Reduction::none, PerClass>{},
        nn::CrossEntropyLoss<Reduction::none, CrossEntropyConfig{}, PerClass>{}, labels);
  check(nn::NLLLoss<Reduction::mean, PerClass>{},
        nn::CrossEntropyLoss<Reduction::mean, CrossEntropyConfig{}, PerClass>{}, labels);
  check(nn::NLLLoss<Reduction::mean, PerClass, -100>{}, nn::CrossEntropyLoss<Reduction::mean, ignoring, PerClass>{},
        some);
  check(nn::NLLLoss<Reduction::sum, nn::NoWeight, -100>{}, nn::CrossEntropyLoss<Reduction::sum, ignoring>{}, some);
  const auto far = tensor_of<float, Shape<2, 3>>({-1, -infinity, -infinity, -infinity, -2, -infinity});
  const auto outcome = both_modes(LossCall<nn::NLLLoss<>>{}, far, tensor_of<std::int32_t, Shape<2>>({0, 1}));
  CHECK(outcome.result.item() == 1.5f);
  CHECK(std::get<0>(outcome.gradient).values()[1] == 0);
  CHECK_THROWS_AS(nn::NLLLoss{}(x, some), ValueError);
  check_empty<Likelihood, Rows, Labels>();
}

TEST_CASE("what does not fit is one sentence that names both shapes") {
  using Square = Tensor<float, Shape<dyn, 3>>;
  CHECK((sentence<nn::NLLLoss<>, Square, Square>() ==
         "network: NLLLoss got log-probabilities [n,3] and labels [n,3], which must be [n]"));
  CHECK((sentence<nn::NLLLoss<>, Square, Tensor<float, Shape<dyn>>>() ==
         "network: ClassValue needs labels of int32 or int64, got float32 [n]"));
  CHECK((sentence<nn::CrossEntropyLoss<>, Square, Tensor<std::int32_t, Shape<dyn, 1>>>().find(
             "logits [n,3] and labels [n,1]") != std::string_view::npos));
}

TEST_CASE("NLLLoss and CrossEntropyLoss: more axes than one in front of the classes, int64") {
  const auto x = random_tensor<double, Shape<dyn, 2, 3>>(7, -2, 2, 2);
  const auto label = tensor_of<std::int64_t, Shape<dyn, 2>>({0, 1, 2, 0});
  check_loss<nn::NLLLoss<Reduction::none, PerClass>>(x, label);
  check_loss<nn::CrossEntropyLoss<Reduction::mean, both, PerClass>>(x, label);
}

namespace {
/// The same numbers as PerClass.
struct ArrayPerClass {
  using shape = Shape<3>;
  static constexpr std::array<double, 3> values{1, 0.5, 4};
};
}  // namespace

TEST_CASE("class weights may be a std::array") {
  using Loss = nn::CrossEntropyLoss<Reduction::none, both, ArrayPerClass>;
  CHECK(bit_equal(Loss{}(logits, some), nn::CrossEntropyLoss<Reduction::none, both, PerClass>{}(logits, some)));
  check_loss<Loss>(logits, some);
}

namespace {
struct TwoClasses {
  using shape = Shape<2>;
  static constexpr float values[]{1, 2};
};
}  // namespace

TEST_CASE("FocalLoss: the example of MindSpore's documentation, with weights") {
  const auto x = tensor_of<float, Shape<3, 2>>({0.8f, 1.4f, 0.5f, 0.9f, 1.2f, 0.9f});
  const nn::FocalLoss<Reduction::mean, 2, TwoClasses> loss;
  CHECK(loss(x, tensor_of<std::int32_t, Shape<3>>({1, 1, 0})).item() == doctest::Approx(0.12516622).epsilon(1e-6));
}

TEST_CASE("a table that has not one weight for each class is a sentence") {
  const auto expected = [](const std::string& loss) {
    return "network: " + loss +
           " got logits [n,3] and class weights [2]: give each of the 3 classes a weight, using shape = Shape<3>";
  };
  CHECK(sentence<nn::CrossEntropyLoss<Reduction::mean, smooth, TwoClasses>, Rows, Labels>() ==
        expected("CrossEntropyLoss"));
  CHECK(sentence<nn::CrossEntropyLoss<Reduction::mean, CrossEntropyConfig{}, TwoClasses>, Rows, Rows>() ==
        expected("CrossEntropyLoss"));
  CHECK(sentence<nn::NLLLoss<Reduction::mean, TwoClasses>, Rows, Labels>() == expected("NLLLoss"));
  CHECK(sentence<nn::FocalLoss<Reduction::mean, 2, TwoClasses>, Rows, Labels>() == expected("FocalLoss"));
  CHECK(sentence<nn::FocalLoss<Reduction::mean, 2, PerClass>, Rows, Labels>() == "");
}

TEST_CASE("FocalLoss: the definition; cross entropy for gamma = 0; what is certain has no gradient") {
  const nn::CrossEntropyLoss<Reduction::none> entropy;
  const auto e = entropy(logits, labels), zero = nn::FocalLoss<Reduction::none, 0>{}(logits, labels),
             weighted = nn::FocalLoss<Reduction::none, 1.5, PerClass>{}(logits, labels);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(zero.values()[i] == e.values()[i]);
    const double w = double(PerClass::values[labels.values()[i]]);
    CHECK(weighted.values()[i] ==
          doctest::Approx(w * std::pow(1 - std::exp(-e.values()[i]), 1.5) * e.values()[i]).epsilon(1e-9));
  }
  check_loss<nn::FocalLoss<>>(logits, labels);
  check_loss<nn::FocalLoss<Reduction::none, 1>>(logits, labels);
  check_loss<nn::FocalLoss<Reduction::none, 1.5, PerClass>>(logits, labels);
  const auto sure = tensor_of<float, Shape<1, 3>>({200, 0, 0});
  const auto right = both_modes(LossCall<nn::FocalLoss<>>{}, sure, tensor_of<std::int32_t, Shape<1>>({0}));
  CHECK(right.result.item() == 0);
  for (const float g : std::get<0>(right.gradient).values()) CHECK(g == 0);
  CHECK(nn::FocalLoss{}(sure, tensor_of<std::int32_t, Shape<1>>({1})).item() == 200);
  CHECK(bit_equal(nn::FocalLoss{}(logits, ops::one_hot<3, double>(labels)), nn::FocalLoss{}(logits, labels)));
  CHECK_THROWS_AS(nn::FocalLoss{}(logits, some), ValueError);
}

namespace {
struct Classifier : nn::Cell<Classifier> {
  nn::Dense<8, 16> fc1;
  nn::Dense<16, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
template <class Loss>
cells::Trained trained(Mode mode, int threads) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Classifier net;
  Model model{net, Loss{}, cells::momentum()};
  cells::Losses seen;
  model.train(8, cells::samples<Shape<8>>(28) | dataset::batch(8), seen);
  return {seen.value, cells::bits(net)};
}
template <class Loss>
void check_trained() {
  const auto graph = trained<Loss>(Mode::graph, 1);
  CHECK(graph == trained<Loss>(Mode::pynative, 1));
  CHECK(graph == trained<Loss>(Mode::graph, 2));
  CHECK(graph.losses.back() < graph.losses.front() * 0.8);
}
}  // namespace

TEST_CASE("a Model trains with them, with equal bits in both modes, and looks at the labels first") {
  check_trained<nn::CrossEntropyLoss<Reduction::mean, both, PerClass>>();
  check_trained<nn::FocalLoss<>>();
  Classifier net;
  Model model{net, nn::CrossEntropyLoss<Reduction::mean, smooth>{}, cells::momentum()};
  const std::vector<float> x(16, 1.0f);
  const std::vector<std::int32_t> wrong{0, 3};
  const auto data = dataset::from_arrays(dataset::column<Shape<8>>(x), dataset::column<Shape<>>(wrong));
  CHECK_THROWS_AS(model.train(1, data | dataset::batch(2)), ValueError);
}
