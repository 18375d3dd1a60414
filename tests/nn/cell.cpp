#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/ops.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/train/model.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor, support::same_bits;

namespace {
using Batch = Tensor<float, Shape<dyn, 3>>;
int construct_calls = 0;

struct Inner : nn::Cell<Inner> {
  nn::Dense<3, 3> fc;
  constexpr auto construct(auto x) const {
    if (!std::is_constant_evaluated()) ++construct_calls;
    return relu(fc(x));
  }
};
struct Outer : nn::Cell<Outer> {
  Inner first, second;
  constexpr auto construct(auto x, auto y) const { return second(first(x)) + y; }
};

/// Doubles until the sum is large, which only values can tell: for PyNative mode alone.
struct Doubling : nn::Cell<Doubling> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const {
    while (reduce_sum(x).item() < 20) x = x + x;
    if (reduce_sum(x).item() > 100) return fc(x) * 0.5f;
    return fc(x);
  }
};
}  // namespace

TEST_CASE("a direct call runs as the mode says, with equal bits") {
  Outer net;
  for (long n : {3, 1, 8}) {
    const Batch x = random_tensor<float, Shape<dyn, 3>>(1, -2, 2, n),
                y = random_tensor<float, Shape<dyn, 3>>(2, -2, 2, n);
    Batch results[2];
    int at = 0;
    for (Mode mode : {Mode::graph, Mode::pynative}) {
      const ContextScope scope({.mode = mode});
      construct_calls = 0;
      results[at++] = net(x, y);
      CHECK(construct_calls == (mode == Mode::graph ? 0 : 2));
    }
    CHECK(same_bits(results[0], results[1]));
  }
}

TEST_CASE("on a tape, and while it trains, a direct call runs operator by operator also in graph mode") {
  const ContextScope scope({.mode = Mode::graph});
  Outer net;
  const Batch x = Batch::full(1, 2);
  construct_calls = 0;
  {
    eager::Tape tape;
    tape.backward(net(x, x));
    CHECK(tape.gradient_data(net.first.fc.weight) != nullptr);
    CHECK(construct_calls == 2);
  }
  net.set_train();
  net(x, x);
  CHECK(construct_calls == 4);
  net.set_train(false);
  net(x, x);
  CHECK(construct_calls == 4);
}

TEST_CASE("two networks of one type have parameters of their own in one compiled graph") {
  const ContextScope scope({.mode = Mode::graph});
  Outer one, two;
  const Batch x = random_tensor<float, Shape<dyn, 3>>(1);
  const Batch first = one(x, x);
  CHECK(same_bits(two(x, x), first));
  two.first.fc.bias.values()[0] += 5;
  CHECK_FALSE(same_bits(two(x, x), first));
  CHECK(same_bits(one(x, x), first));
}

TEST_CASE("arguments that do not fit each other are refused in both modes") {
  Outer net;
  for (Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    CHECK_THROWS_WITH_AS(net(Batch::full(1, 2), Batch::full(1, 3)), doctest::Contains("batch size 2 and 3"),
                         ValueError);
    CHECK_THROWS_WITH_AS(net(Batch(), Batch::full(1, 3)), doctest::Contains("without elements"), ValueError);
  }
}

TEST_CASE("a model that is pinned to PyNative mode may look at values") {
  const ContextScope scope({.mode = Mode::graph});  // what the type says counts
  Doubling net;
  Model model{pinned<Mode::pynative>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  CHECK(model.mode() == Mode::pynative);
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>{1, 2, 3, 0.25f, 0.5f, 0.25f}),
                                         dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1}));
  std::vector<double> losses;
  struct Losses {
    std::vector<double>& value;
    void step_end(RunInfo& run) { value.push_back(run.loss()); }
  };
  model.train(30, data | dataset::batch(1), Losses{losses});
  REQUIRE(losses.size() == 60);
  CHECK(losses[58] + losses[59] < (losses[0] + losses[1]) / 2);
  const auto direct = model.predict(Batch::full(1, 1)), scaled = model.predict(Batch::full(8, 1));
  CHECK(same_bits(direct, scaled));  // 1 1 1 is doubled to 8 8 8
}

namespace {
struct Assigning : nn::Cell<Assigning> {
  nn::Dense<12, 12> fc;
  constexpr auto construct(auto& x) const {
    auto y = fc(x);
    y += x;
    y *= 2.0f;
    y -= fc(y);
    return y /= x;
  }
};
}  // namespace

TEST_CASE("x += y is x = x + y: in both modes, and without a change of what x shared") {
  const Assigning net;
  const auto x = random_tensor<float, Shape<dyn, 12>>(1, 1, 2, 3);
  const auto graph = net(x);
  const ContextScope pynative({.mode = Mode::pynative});
  CHECK(same_bits(graph, net(x)));
  auto y = x;
  y += x;
  CHECK(same_bits(y, x + x));
  CHECK(y.data() != x.data());
}

TEST_CASE("a comparison of single numbers is a condition") {
  const auto a = Tensor<float, Shape<>>::full(1.0f);
  CHECK(bool(a < 2.0f));
  CHECK(!(a > 2.0f));
}

namespace {
struct Sized : nn::Cell<Sized> {
  nn::Dense<6, 8> fc;
  constexpr auto construct(auto x) const {
    const auto h = fc(reshape<Shape<dyn, x.shape()[1] * x.shape()[2]>>(x));
    static_assert(h.shape().size() == 2);
    return reshape<Shape<dyn, 2, h.shape()[-1] / 2>>(h) / h.shape()[1] + x.extent(2);
  }
};
}  // namespace

TEST_CASE("shape() has static extents as constants, in both modes, and the batch size of tensors") {
  const Sized net;
  const auto x = random_tensor<float, Shape<dyn, 2, 3>>(1, 1, 2, 5);
  const auto graph = net(x);
  CHECK(graph.shape().size() == 3);
  CHECK(graph.shape()[0] == 5);
  CHECK(graph.shape()[-1] == 4);
  const ContextScope pynative({.mode = Mode::pynative});
  CHECK(same_bits(graph, net(x)));
  for (int i = 0; i < 40; ++i) {
    const auto h = net.fc(x.reshape<Shape<dyn, 6>>());
    CHECK(graph.data()[i] == h.data()[i] / 8 + 3);
  }
}
