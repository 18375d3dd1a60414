// BatchNorm1d and BatchNorm2d: moving statistics, training in both modes, evaluation fused into a convolution, bad
// shapes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <tenon/nn/batch_norm.hpp>
#include <tenon/nn/conv2d.hpp>
#include <tenon/nn/metric/accuracy.hpp>

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
