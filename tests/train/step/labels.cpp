// Class numbers and indices out of range: refused before their step, in both modes, for training and evaluation.
#include <doctest/doctest.h>

#include "../small.hpp"

#include <tenon/nn/jit.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/ops/concat.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/sub.hpp>

using namespace small;

namespace {
constexpr Mode modes[]{Mode::graph, Mode::pynative};
auto momentum() { return nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}; }

/// Ten samples of class 1, but for one label; batches of 4, 4, and 2.
template <class T = std::int32_t>
auto ten_with(long sample, T label) {
  std::vector<T> labels(10, 1);
  labels[std::size_t(sample)] = label;
  return dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(30, 0.5f)),
                              dataset::column<Shape<>>(labels)) |
         dataset::batch(4);
}
/// A loss of the user with the operator inside, and labels under another shape.
struct Own : nn::Cell<Own> {
  constexpr auto construct(auto logits, auto labels) const {
    return ops::reduce_mean(ops::softmax_cross_entropy(logits, ops::reshape<Shape<dyn>>(labels))) * 2;
  }
};
/// Takes class 0 for -1: what a network makes of its labels is not looked at.
struct Tolerant : nn::Cell<Tolerant> {
  constexpr auto construct(auto logits, auto labels) const {
    return ops::reduce_mean(ops::softmax_cross_entropy(logits, ops::maximum(labels, 0)));
  }
};
/// A network that returns its loss, from two labels per sample.
struct Pairs : nn::Cell<Pairs> {
  nn::Dense<3, 4> fc;
  constexpr auto construct(auto x, auto labels) const {
    return ops::reduce_mean(ops::softmax_cross_entropy(ops::reshape<Shape<dyn, 2, 2>>(fc(x)), labels));
  }
};
/// Looks rows of a table up by a column, and others by what it computes of it.
struct Words : nn::Cell<Words> {
  nn::Embedding<5, 3> table, shifted;
  nn::Dense<6, 2> head;
  constexpr auto construct(auto ids) const {
    const auto both = ops::concat<-1>(table(ids), shifted(ops::sub(ids, 1)));
    return head(ops::reduce_mean<1>(both));
  }
};
/// Eight sentences of two words, but for one word.
auto sentences_with(long at, std::int32_t word) {
  std::vector<std::int32_t> words(16, 2);
  words[std::size_t(at)] = word;
  return dataset::from_arrays(dataset::column<Shape<2>>(words),
                              dataset::column<Shape<>>(std::vector<std::int32_t>(8, 1))) |
         dataset::batch(4);
}
/// Asks for a value, so it cannot run as a graph.
struct Looks : nn::Cell<Looks> {
  Net net;
  constexpr auto construct(auto x) const {
    auto y = net(x);
    if (ops::reduce_mean(y).item() > 1e9f) return y * 2;
    return y * 1;
  }
};
}  // namespace

TEST_CASE("labels: one out of range is refused with its place, before its step runs") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::Accuracy{}};
    const std::string before = bits(net);
    CHECK_THROWS_WITH_AS(model.train(1, ten_with(0, 7)),
                         "Model.train: label 7 in sample 0 of step 1 (epoch 1) is outside of 0 .. 1, the 2 classes of "
                         "the prediction [n,2]. Correct the label, or give the last layer more outputs.",
                         ValueError);
    CHECK(bits(net) == before);
    CHECK(model.global_step() == 0);
    CHECK_THROWS_WITH_AS(model.eval(ten_with(9, 2)),
                         doctest::Contains("Model.eval: label 2 in sample 1 of step 3 is outside of 0 .. 1"),
                         ValueError);
    CHECK_THROWS_WITH_AS(model.train(1, ten_with(9, -1)),
                         doctest::Contains("Model.train: label -1 in sample 1 of step 3 (epoch 1) is outside"),
                         ValueError);
    CHECK(model.global_step() == 2);
    CHECK_THROWS_WITH_AS(model.train(2, ten_with<std::int64_t>(5, 1l << 40)),
                         doctest::Contains("label 1099511627776 in sample 1 of step 2 (epoch 1)"), ValueError);
    CHECK_NOTHROW(model.train(1, ten_with(0, 0)));
    CHECK_NOTHROW(model.eval(ten_with(0, 0)));
  }
}

TEST_CASE("labels: found also in a loss of the user, in a network that returns its loss, and in static batches") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model own{net, Own{}, momentum()};
    CHECK_THROWS_WITH_AS(own.train(1, ten_with(3, 2)), doctest::Contains("label 2 in sample 3 of step 1"), ValueError);
    Model fixed{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    const auto features = dataset::column<Shape<3>>(std::vector<float>(30, 0.5f));
    const auto classes = dataset::column<Shape<>>(std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 1, 1, 9, 1});
    CHECK_THROWS_WITH_AS(fixed.train(1, dataset::from_arrays(features, classes) | dataset::batch<5>()),
                         doctest::Contains("label 9 in sample 3 of step 2"), ValueError);
    Pairs pairs;
    Model returned{pairs, NoLoss{}, momentum()};
    std::vector<std::int32_t> labels(20, 1);
    labels[13] = 5;
    const auto data = dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(30, 0.5f)),
                                           dataset::column<Shape<2>>(labels));
    CHECK_THROWS_WITH_AS(
        returned.train(1, data | dataset::batch(4)),
        doctest::Contains(
            "label 5 in sample 2 of step 2 (epoch 1) is outside of 0 .. 1, the 2 classes of the prediction [n,2,2]"),
        ValueError);
  }
}

TEST_CASE("labels: so are indices of an embedding; those that the network computes are looked at before the updates") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Words net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::Accuracy{}};
    CHECK_NOTHROW(model.train(1, sentences_with(3, -4)));
    const std::string before = bits(net);
    CHECK_THROWS_WITH_AS(model.train(1, sentences_with(3, 5)),
                         "Model.train: index 5 in sample 1 of step 1 (epoch 1) is outside of -5 .. 4, the 5 rows of "
                         "the table [5,3]. Correct the index, or give the table more rows.",
                         ValueError);
    CHECK_THROWS_WITH_AS(model.eval(sentences_with(15, -6)),
                         doctest::Contains("Model.eval: index -6 in sample 3 of step 2 is outside of -5 .. 4"),
                         ValueError);
    const auto computed = "Gather: index -6 at [1,1] is outside of -5 .. 4, the 5 rows of the table [5,3]. Correct "
                          "the index, or give the table more rows.";
    CHECK_THROWS_WITH_AS(model.train(1, sentences_with(3, -5)), computed, ValueError);
    CHECK(bits(net) == before);
    CHECK_NOTHROW(model.train(1, sentences_with(3, 4)));
    for (const long n : {1, 2}) {
      auto ids = Tensor<std::int32_t, Shape<dyn, 2>>::full(0, n);
      CHECK_NOTHROW((void)model.predict(ids));
      ids.values().back() = 5;
      CHECK_THROWS_WITH_AS((void)model.predict(ids), doctest::Contains("Gather: index 5 at ["), ValueError);
    }
  }
}

TEST_CASE("labels: a softmax cross entropy of one's own refuses them, too") {
  const auto logits = Tensor<float, Shape<dyn, 3>>::zeros(2);
  const auto labels = Tensor<std::int32_t, Shape<dyn>>::from({1, 3});
  constexpr auto loss = [](const auto& x, const auto& y) { return ops::softmax_cross_entropy(x, y); };
  const auto said =
      "SoftmaxCrossEntropyWithLogits: label 3 at [1] is outside of 0 .. 2, the 3 classes of the prediction "
      "[n,3]. Correct the label, or give the last layer more outputs.";
  CHECK_THROWS_WITH_AS((void)loss(logits, labels), said, ValueError);
  CHECK_THROWS_WITH_AS((void)jit(loss)(logits, labels), said, ValueError);
}

TEST_CASE("labels: those that the loss itself brings into range pass") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, Tolerant{}, momentum()};
    CHECK_NOTHROW(model.train(1, ten_with(0, -1)));
  }
}

TEST_CASE("labels: a model that looks at values has its labels checked, too") {
  Looks net;
  Model model{pinned<Mode::pynative>, net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  CHECK_THROWS_WITH_AS(model.train(1, ten_with(1, 3)), doctest::Contains("label 3 in sample 1 of step 1"), ValueError);
}
