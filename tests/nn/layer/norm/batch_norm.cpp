// BatchNorm1d and BatchNorm2d: moving statistics, training in both modes, evaluation fused into a convolution, bad
// shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <cmath>

#include "../../support.hpp"

#include <tenon/nn/frozen.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/nn/optim/sgd.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/square.hpp>

using namespace cells;
using support::random_tensor;

namespace {

struct Residual : nn::Cell<Residual> {
  nn::Conv2d<3, 6, 3> conv1;
  nn::BatchNorm2d<6> norm1;
  nn::Conv2d<6, 6, 3> conv2;
  nn::BatchNorm2d<6> norm2;
  nn::Dense<6 * 36, 16> fc1;
  nn::BatchNorm1d<16> norm3;
  nn::Dense<16, 3> fc2;
  constexpr auto construct(auto x) const {
    const auto a = relu(norm1(conv1(x)));
    const auto b = relu(norm2(conv2(a)) + a);
    return fc2(relu(norm3(fc1(flatten(b)))));
  }
};
struct ConvNormRelu : nn::Cell<ConvNormRelu> {
  nn::Conv2d<3, 6, 3> conv;
  nn::BatchNorm2d<6> norm;
  constexpr auto construct(auto x) const { return relu(norm(conv(x))); }
};
using Rows4 = Tensor<float, Shape<dyn, 4>>;

template <class Cell, int... Extents>
std::string_view sentence() {
  return Compiled<detail::Forward<Cell, TypeKey<Dtype::float32, Extents...>>>::sentence.view();
}

}  // namespace

TEST_CASE("BatchNorm: moving statistics follow the batches with momentum 0.9 and the unbiased variance") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    nn::BatchNorm1d<4> norm;
    norm.set_train();
    double mean[4]{}, variance[4]{1, 1, 1, 1};
    for (std::uint64_t step = 0; step < 5; ++step) {
      const long n = step == 3 ? 7 : 10;
      const auto x = random_tensor<float, Shape<dyn, 4>>(step + 1, -1, 4, n);
      norm(x);
      for (long c = 0; c < 4; ++c) {
        double batch = 0, square = 0;
        for (long i = 0; i < n; ++i) batch += x.data()[4 * i + c] / double(n);
        for (long i = 0; i < n; ++i) square += std::pow(x.data()[4 * i + c] - batch, 2) / double(n - 1);
        mean[c] = 0.9 * mean[c] + 0.1 * batch;
        variance[c] = 0.9 * variance[c] + 0.1 * square;
      }
    }
    for (std::size_t c = 0; c < 4; ++c) {
      CHECK(norm.moving_mean.values()[c] == doctest::Approx(mean[c]).epsilon(1e-5));
      CHECK(norm.moving_variance.values()[c] == doctest::Approx(variance[c]).epsilon(1e-5));
    }
  }
}

TEST_CASE("BatchNorm: momentum and epsilon are settings") {
  nn::BatchNorm1d<4, nn::BatchNormConfig{.epsilon = 1.0f, .momentum = 0.25f}> norm;
  norm.set_train();
  const auto x = support::tensor_of<float, Shape<dyn, 4>>({1, 1, 1, 1, 3, 3, 3, 3});
  const auto y = norm(x);
  CHECK(y.data()[0] == doctest::Approx(-1 / std::sqrt(2.0)));
  CHECK(norm.moving_mean.values()[0] == doctest::Approx(0.75 * 2));
  CHECK(norm.moving_variance.values()[0] == doctest::Approx(0.25 + 0.75 * 2));
}

TEST_CASE("BatchNorm: steps of training with residuals give equal bits in both modes, moving statistics among them") {
  const Trained graph = check_training<Residual, Shape<3, 6, 6>>(6);
  const Trained once = trained<Residual, Shape<3, 6, 6>>(Mode::graph, 1);
  CHECK(once.bits != graph.bits);
}

TEST_CASE("BatchNorm: evaluation is a function of each sample, equal in both modes") {
  ConvNormRelu net;
  net.set_train();
  const auto x = random_tensor<float, Shape<dyn, 3, 6, 6>>(1, -2, 2, 8);
  net(x);
  net.set_train(false);
  const ContextScope scope({.mode = Mode::pynative});
  const auto eager = net(x);
  set_context({.mode = Mode::graph});
  const auto graph = net(x);
  CHECK(support::same_bits(eager, graph));
  auto single = Tensor<float, Shape<dyn, 3, 6, 6>>::empty(1);
  std::memcpy(single.data(), x.data() + 5 * 108, 108 * sizeof(float));
  CHECK(std::memcmp(net(single).data(), graph.data() + 5 * 216, 216 * sizeof(float)) == 0);
}

TEST_CASE("BatchNorm: in evaluation it runs inside of the convolution before it") {
  using Graph = Compiled<detail::Forward<ConvNormRelu, TypeKey<Dtype::float32, dyn, 3, 6, 6>>>;
  // the scale of each channel; into blocks of samples; convolution, normalization, and relu; out of blocks
  CHECK(Graph::program.instructions == 4);
}

namespace {
struct RowsNorm : nn::Cell<RowsNorm> {
  nn::BatchNorm1d<4> norm;
  nn::Dense<4, 2> fc;
  constexpr auto construct(auto x) const { return fc(norm(x)); }
};
}  // namespace

TEST_CASE("BatchNorm: one value per channel is no batch to train with, in both modes and before the step") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    RowsNorm net;
    const std::vector<float> x(20, 0.5f);
    const std::vector<std::int32_t> y(5, 1);
    const auto data = dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<>>(y));
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                nn::Accuracy{}};
    CHECK_THROWS_WITH_AS(model.train(1, data | dataset::batch(2)),
                         "BatchNorm1d in training needs more than 1 value per channel, got a batch of 1 in step 3 "
                         "(epoch 1). Use 2 samples or more, leave out the rest of the data (batch<N>() does), or "
                         "evaluate.",
                         ValueError);
    CHECK(model.global_step() == 2);
    CHECK_NOTHROW(model.eval(data | dataset::batch(2)));
  }
}

TEST_CASE("BatchNorm: bad shapes are named, in training and in evaluation") {
  CHECK((sentence<nn::BatchNorm2d<6>, dyn, 6, 5, 5>().empty()));
  CHECK((sentence<nn::BatchNorm2d<6>, dyn, 3, 5, 5>() ==
         "network: BatchNorm2d got an input of 3 channels [n,3,5,5], its gamma [6] needs 6"));
  CHECK((sentence<nn::BatchNorm2d<6>, dyn, 1, 5, 5>() ==
         "network: BatchNorm2d got an input of 1 channels [n,1,5,5], its gamma [6] needs 6"));
  CHECK(
      (sentence<nn::BatchNorm2d<6>, dyn, 6>() == "network: BatchNorm2d needs an input [n,C,H,W] of rank 4, got [n,6]"));
  CHECK((sentence<nn::BatchNorm1d<6>, dyn, 6, 5, 5>() ==
         "network: BatchNorm1d needs an input [n,C] of rank 2, got [n,6,5,5]"));
}

namespace {
template <class Norm>
struct Probe : nn::Cell<Probe<Norm>> {
  nn::Dense<2, 2> fc;
  Norm norm;
  constexpr auto construct(auto x) const { return ops::reduce_sum(ops::square(norm(fc(x)))) * 0.125f; }
};
using RunProbe = Probe<nn::BatchNorm1d<2>>;
using TypeProbe = Probe<nn::Frozen<nn::BatchNorm1d<2>>>;

/// Two steps of a network whose normalization is frozen by `freeze(net, norm)` before it: its parameters.
template <class Net>
std::vector<float> after_two_steps(Mode mode, auto freeze) {
  const ContextScope scope({.mode = mode});
  Net net;
  net.init_parameters();
  const std::vector<std::vector<float>> values{
      {0.5f, -0.25f, 1, 0.75f}, {0.1f, -0.2f}, {1.5f, -0.5f}, {0.2f, 0.3f}, {0.5f, -1}, {2, 0.5f}};
  std::size_t k = 0;
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const auto to = parameter.template values<float>();
    std::copy(values[k].begin(), values[k].end(), to.begin()), ++k;
  }
  freeze(net);
  Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.0625f}};
  const auto data =
      dataset::from_arrays(dataset::column<Shape<2>>(std::vector<float>{1, 2, -1, 0.5f, 0.25f, -2, 3, 1}));
  model.train(2, data | dataset::batch(4));
  std::vector<float> all;
  for (const auto& [name, parameter] : net.parameters_and_names())
    for (const float v : parameter.template values<float>()) all.push_back(v);
  return all;
}
// What PyTorch's SGD makes of the same network, whose normalization is in eval(); without requires_grad, too.
constexpr float evaluating[]{0.37945113f, -0.2250568f,   0.88068718f, 0.65984726f, 0.090188384f, -0.2448142f,
                             1.4605232f,  -0.066401646f, 0.19071069f, 0.3501693f,  0.5f,         -1,
                             2,           0.5f},
    frozen[]{0.37762478f, -0.22472495f, 0.77549088f, 0.58106124f, 0.089856237f, -0.28632128f, 1.5f, -0.5f, 0.2f,
             0.30000001f, 0.5f,         -1,          2,           0.5f};
void check_near(const std::vector<float>& found, const float (&expected)[14]) {
  REQUIRE(found.size() == 14);
  for (std::size_t i = 0; i < 14; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(2e-6));
}
/// Trains a Residual, after freeze(net), with equal bits in both modes, and returns it.
Residual trained_frozen(auto freeze) {
  std::string found[2];
  Residual net;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 3});
    net = Residual();
    net.init_parameters();
    for (auto& v : net.norm1.moving_variance.values()) v = 1.5f;
    freeze(net);
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    model.train(2, samples<Shape<3, 6, 6>>(40) | dataset::batch(20));
    found[mode == Mode::graph] = bits(net);
  }
  CHECK(found[0] == found[1]);
  return net;
}
bool rests(const auto& norm, float variance = 1) {
  for (const float v : norm.moving_mean.values())
    if (v != 0) return false;
  for (const float v : norm.moving_variance.values())
    if (v != variance) return false;
  return true;
}
}  // namespace

TEST_CASE("BatchNorm: frozen in a training it evaluates and keeps its statistics, as PyTorch's after eval()") {
  for (const Mode mode : modes) {
    check_near(after_two_steps<RunProbe>(mode, [](const auto& net) { net.norm.set_train(false); }), evaluating);
    check_near(after_two_steps<RunProbe>(mode, [](const auto& net) { net.norm.requires_grad(false); }), frozen);
    check_near(after_two_steps<TypeProbe>(mode, [](const auto&) {}), frozen);
    const auto free = after_two_steps<RunProbe>(mode, [](const auto&) {});
    CHECK(std::abs(free[10] - frozen[10]) > 0.01f);  // the moving mean follows
    CHECK(after_two_steps<RunProbe>(mode, [](const auto& net) {
            net.norm.set_train(false), net.norm.requires_grad(false);
            net.norm.requires_grad(true), net.set_train();
          }) == free);
  }
}

TEST_CASE("BatchNorm: a frozen part among others, images in blocks, equal bits in both modes; it may learn again") {
  const Residual by_grad = trained_frozen([](const auto& net) { net.norm1.requires_grad(false); });
  CHECK((rests(by_grad.norm1, 1.5f) && !rests(by_grad.norm2) && !rests(by_grad.norm3)));
  const Residual by_train =
      trained_frozen([](const auto& net) { net.norm1.set_train(false), net.norm3.set_train(false); });
  CHECK((rests(by_train.norm1, 1.5f) && !rests(by_train.norm2) && rests(by_train.norm3)));
  const Residual whole = trained_frozen([](const auto& net) { net.set_train(false); });  // a Model decides by itself
  CHECK((!rests(whole.norm1, 1.5f) && !rests(whole.norm2)));
  const ContextScope scope({.mode = Mode::graph});
  Model model{by_grad, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  by_grad.norm1.requires_grad(true);  // no graph is made anew
  model.train(1, samples<Shape<3, 6, 6>>(40) | dataset::batch(20));
  CHECK(!rests(by_grad.norm1, 1.5f));
}

TEST_CASE("BatchNorm: a part that evaluates before its network is bound does so in it") {
  const auto trained = [](auto freeze) {
    Residual net;
    freeze(net);
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    model.train(1, samples<Shape<3, 6, 6>>(40) | dataset::batch(20));
    return net;
  };
  const Residual rested = trained([](const auto& net) { net.norm1.set_train(false); });
  CHECK((rests(rested.norm1) && !rests(rested.norm2)));
  CHECK(!rests(trained([](const auto& net) { net.norm1.set_train(false), net.norm1.set_train(); }).norm1));
  CHECK(!rests(trained([](const auto& net) { net.norm1.set_train(false), net.set_train(); }).norm1));
}

TEST_CASE("BatchNorm: direct calls of a training network with a part that evaluates") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Residual net;
    net.set_train();
    net.norm2.set_train(false);
    net(random_tensor<float, Shape<dyn, 3, 6, 6>>(1, -2, 2, 8));
    CHECK((!rests(net.norm1) && rests(net.norm2)));
    CHECK(rests(net.clone().norm2));
    net.set_train();
    net(random_tensor<float, Shape<dyn, 3, 6, 6>>(1, -2, 2, 8));
    CHECK(!rests(net.norm2));
  }
}
