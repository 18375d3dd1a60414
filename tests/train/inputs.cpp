// A network with several inputs: with a loss function, the last columns of a row are labels and all others inputs.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "small.hpp"

using namespace tenon;

namespace {
struct Joined : nn::Cell<Joined> {
  nn::Dense<3, 8> left;
  nn::Dense<2, 8> right;
  nn::Dense<8, 3> output;
  constexpr auto construct(auto x, auto y) const { return output(tanh(left(x) + right(y))); }
};
struct JoinedTwoHeads : nn::Cell<JoinedTwoHeads> {
  Joined net;
  nn::Dense<2, 1> size;
  constexpr auto construct(auto x, auto y) const { return std::tuple(net(x, y), size(y)); }
};
// The same loss by hand, from a network that takes all columns. Initial values depend on names.
struct ByHand : nn::Cell<ByHand> {
  nn::Dense<3, 8> left;
  nn::Dense<2, 8> right;
  nn::Dense<8, 3> output;
  constexpr auto construct(auto x, auto y, auto label) const {
    return nn::SoftmaxCrossEntropyWithLogits{}(output(tanh(left(x) + right(y))), label);
  }
};

struct Columns {
  std::vector<float> x, y, size;
  std::vector<std::int32_t> label;
};
Columns columns() {
  Columns c;
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 3; ++k) c.x.push_back(k == i % 3 ? 1.0f : 0.1f * float(i % 5));
    c.y.insert(c.y.end(), {float(i % 2), float(i % 4) / 4});
    c.label.push_back((i + i % 2) % 3);  // depends on both inputs
    c.size.push_back(float(i % 4));
  }
  return c;
}
auto rows() {
  const Columns c = columns();
  return dataset::from_arrays(dataset::column<Shape<3>>(c.x), dataset::column<Shape<2>>(c.y),
                              dataset::column<Shape<>>(c.label)) |
         dataset::batch(8);
}
auto rows_with_size() {
  const Columns c = columns();
  return dataset::from_arrays(dataset::column<Shape<3>>(c.x), dataset::column<Shape<2>>(c.y),
                              dataset::column<Shape<>>(c.label), dataset::column<Shape<1>>(c.size)) |
         dataset::batch(8);
}
const nn::Momentum optimizer{.learning_rate = 0.2f, .momentum = 0.9f};
}  // namespace

TEST_CASE("inputs: a network of two trains with a loss as by hand, in both modes") {
  std::string first;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 7});
    ByHand by_hand;
    Model expected{by_hand, NoLoss{}, optimizer};
    Joined net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, nn::Accuracy{}, nn::Loss{}};
    expected.train(80, rows());
    model.train(80, rows());
    const std::string bits = small::bits(net);
    CHECK(bits == small::bits(by_hand));
    if (first.empty()) first = bits;
    CHECK(bits == first);
    CHECK(model.eval(rows())["accuracy"] == 1.0);

    // predict() of a data set passes as many columns as construct takes
    const auto all = model.predict(rows());
    long at = 0;
    for (const auto& [x, y, label] : rows()) {
      const auto part = model.predict(x, y);
      CHECK(std::memcmp(part.data(), all.data() + 3 * at, std::size_t(part.count()) * sizeof(float)) == 0);
      at += x.n();
    }
    CHECK(all.n() == at);
  }
}

TEST_CASE("inputs: two inputs and two outputs, each with its loss and its metric") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 7});
    JoinedTwoHeads net;
    Model model{net, nn::MultiLoss{nn::SoftmaxCrossEntropyWithLogits{}, nn::MSELoss{}}, optimizer,
                nn::for_output<0>("classes", nn::Accuracy{}),
                nn::for_output<1>("size", nn::MAE{nn::Division::per_element})};
    model.train(80, rows_with_size());
    const auto result = model.eval(rows_with_size());
    CHECK(result["classes"] == 1.0);
    CHECK(result["size"] < 0.1);  // size = 4 y[1]
  }
}

TEST_CASE("inputs: of 16 bits with an amp level") {
  Joined net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, nn::Accuracy{}, amp<AmpLevel::O2>};
  model.train(80, rows());
  CHECK(model.eval(rows())["accuracy"] == 1.0);
}
