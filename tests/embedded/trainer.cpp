// embedded::Trainer and embedded::Predictor give the losses, weights, and outputs of a Model of the same source.
// headers: yes
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <tenon/dataset/operations.hpp>
#include <tenon/embedded.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 3, 3, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv;
  nn::Dense<3 * 4 * 4, 5> fc;
  constexpr auto construct(auto x) const { return fc(flatten(max_pool2d<2>(relu(conv(x))))); }
};
using Image = Tensor<float, Shape<dyn, 1, 8, 8>>;
using Label = Tensor<std::int32_t, Shape<dyn>>;
constexpr long image = 64, steps = 30;
using Loss = nn::SoftmaxCrossEntropyWithLogits<>;

struct Samples {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Samples() {
    Random random(3);
    for (long i = 0; i < steps; ++i) {
      y.push_back(std::int32_t(i % 5));
      for (long k = 0; k < image; ++k)
        x.push_back((k / 8 == y.back() ? 0.75f : 0.0f) + static_cast<float>(random.word() * 0x1p-34));
    }
  }
  std::span<const float, image> of(long i) const { return std::span<const float, image>(x.data() + i * image, image); }
};
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

struct Losses {
  std::vector<std::uint32_t> all{};
  void step_end(RunInfo& run) { all.push_back(bits(static_cast<float>(run.loss()))); }
};

template <class Optimizer, class OfModel>
void check_like_model(const Optimizer& optimizer, const OfModel& of_model, Mode mode) {
  const Samples samples;
  set_context({.mode = mode, .seed = 5});
  Net net;
  Model model{net, Loss{}, of_model};
  Losses losses;
  model.train(1,
              dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(samples.x), dataset::column<Shape<>>(samples.y)) |
                  dataset::batch(1),
              losses);

  static embedded::Trainer<Net, Loss, Optimizer, Image, Label> learner;
  learner.start(5);
  std::vector<std::uint32_t> own;
  for (long i = 0; i < steps; ++i) own.push_back(bits(learner.step(optimizer, samples.of(i), samples.y[size_t(i)])));
  CHECK(own == losses.all);
  CHECK(own.front() != own.back());
  CHECK(learner.steps() == steps);

  const ParameterList parameters(net);
  REQUIRE(long(learner.parameters().size()) == parameters.arena()->bytes);
  CHECK(std::memcmp(learner.parameters().data(), parameters.arena()->data, learner.parameters().size()) == 0);

  auto x = Tensor<float, Shape<1, 1, 8, 8>>::empty();
  std::memcpy(x.data(), samples.of(7).data(), sizeof(float) * image);
  const auto expected = net(x);
  const auto found = learner.predict(samples.of(7));
  alignas(64) static std::byte flash[learner.parameter_bytes];
  std::memcpy(flash, learner.parameters().data(), sizeof flash);
  static embedded::Predictor<Net, Image> predictor;
  const auto from_flash = predictor.predict(flash, samples.of(7));
  for (long k = 0; k < 5; ++k) {
    CHECK(bits(found[size_t(k)]) == bits(expected.data()[k]));
    CHECK(bits(from_flash[size_t(k)]) == bits(expected.data()[k]));
  }
}
}  // namespace

TEST_CASE("embedded: a training has the bits of a Model") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    check_like_model(embedded::PlainSGD{.learning_rate = 0.05f, .weight_decay = 0.01f},
                     nn::SGD{.learning_rate = 0.05f, .weight_decay = 0.01f}, mode);
    check_like_model(nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f},
                     nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f}, mode);
    check_like_model(nn::Adam{.learning_rate = 0.01f}, nn::Adam{.learning_rate = 0.01f}, mode);
  }
}

TEST_CASE("embedded: a label that is no class changes nothing") {
  const Samples samples;
  static embedded::Trainer<Net, Loss, nn::Momentum, Image, Label> learner;
  const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f};
  learner.start(5);
  learner.step(momentum, samples.of(0), samples.y[0]);
  const std::vector<std::byte> before(learner.parameters().begin(), learner.parameters().end());
  for (const std::int32_t label : {5, -1, INT32_MAX, INT32_MIN}) {
    CHECK_FALSE(learner.fits(samples.of(1), label));
    CHECK_THROWS_AS(learner.step(momentum, samples.of(1), label), ValueError);
  }
  CHECK(learner.fits(samples.of(1), 4));
  CHECK(learner.steps() == 1);
  CHECK(std::memcmp(before.data(), learner.parameters().data(), before.size()) == 0);
  const float next = learner.step(momentum, samples.of(1), samples.y[1]);
  static embedded::Trainer<Net, Loss, nn::Momentum, Image, Label> other;
  other.start(5);
  other.step(momentum, samples.of(0), samples.y[0]);
  CHECK(bits(next) == bits(other.step(momentum, samples.of(1), samples.y[1])));
  learner.start(5);  // a second run
  CHECK(learner.steps() == 0);
  learner.step(momentum, samples.of(0), samples.y[0]);
  CHECK(std::memcmp(before.data(), learner.parameters().data(), before.size()) == 0);
}

TEST_CASE("embedded: groups of parameters, which are not supported, are refused and not left out") {
  const Samples samples;
  static embedded::Trainer<Net, Loss, nn::Momentum, Image, Label> learner;
  nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f};
  momentum.groups = {{.params = {"fc.*"}, .learning_rate = 0.0f}};
  learner.start(5);
  const std::vector<std::byte> before(learner.parameters().begin(), learner.parameters().end());
  CHECK_THROWS_WITH_AS(learner.step(momentum, samples.of(0), samples.y[0]),
                       doctest::Contains("Momentum: embedded::Trainer has no groups of parameters"), ValueError);
  CHECK(learner.steps() == 0);
  CHECK(std::memcmp(before.data(), learner.parameters().data(), before.size()) == 0);
}
