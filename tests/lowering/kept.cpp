// What is kept between calls of a network: the same bits as without, and new ones after every change of a parameter.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../support/allocations.hpp"
#include "../support/models.hpp"
#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor;

namespace {

constexpr nn::Conv2dConfig winograd{.pad_mode = PadMode::same, .algorithm = ConvAlgorithm::winograd};

/// Every kernel that keeps something, at sizes that fill no vector.
struct Net : nn::Cell<Net> {
  nn::Conv2d<3, 20, 3, winograd> conv1;
  nn::Conv2d<20, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 37> fc1;
  nn::Dense<37, 19> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(flatten(max_pool2d<2>(relu(conv2(relu(conv1(x))))))))); }
};
using Images = Tensor<float, Shape<dyn, 3, 14, 14>>;
using Logits = Tensor<float, Shape<dyn, 19>>;
using Predict = TypeKey<Dtype::float32, dyn, 3, 14, 14>;
template <Passes passes = Passes{}>
using Predicting = Compiled<tenon::detail::EvalStep<Net, NoLoss, Predict>, passes>;
static_assert(Predicting<>::program.kept_operands == 4);
static_assert(Predicting<Passes{.keep = false}>::program.kept_operands == 0);
static_assert(Predicting<no_passes>::program.kept_operands == 0);
using Training = Compiled<tenon::detail::TrainStep<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, Predict,
                                                   TypeKey<Dtype::int32, dyn>>>;
static_assert(Training::program.kept_operands == 0);

/// What a network whose parameters have no memory in common with this one makes of x, operator by operator.
Logits expected(const Net& net, const Images& x) {
  const ContextScope scope({.mode = Mode::pynative});
  return net(x);
}
/// Calls of both kinds until all that can be kept is kept, and once more.
void check_calls(const Net& net, const auto& model, const Images& x) {
  const Logits wanted = expected(net, x);
  for (int call = 0; call < 4; ++call) {
    CAPTURE(call);
    CHECK(bit_equal(model.predict(x), wanted));
    CHECK(bit_equal(net(x), wanted));
  }
}
Images images(int seed, long n) { return random_tensor<float, Shape<dyn, 3, 14, 14>>(seed, -1, 1, n); }

auto batch_of(const Images& x) {
  std::vector<float> pixels(x.values().begin(), x.values().end());
  std::vector<std::int32_t> labels(std::size_t(x.n()), 7);
  return dataset::from_arrays(dataset::column<Shape<3, 14, 14>>(std::move(pixels)),
                              dataset::column<Shape<>>(std::move(labels))) |
         dataset::batch(int(x.n()));
}
/// Changes a parameter by `act` between calls: they see it.
template <class Act>
void check_change(Act act) {
  const Images x = images(3, 1);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  check_calls(net, model, x);
  const Logits before = model.predict(x);
  for (int round = 0; round < 3; ++round) {
    act(net, model);
    CHECK(!bit_equal(model.predict(x), before));
    check_calls(net, model, x);
  }
}
template <class Parameter>
Tensor<float, typename Parameter::shape> drawn_for(const Parameter&, int seed) {
  return random_tensor<float, typename Parameter::shape>(seed, -0.2, 0.2);
}

/// A path that is removed at the end.
struct Path {
  std::string name = "kept_" + std::to_string(::getpid()) + ".safetensors";
  ~Path() { std::remove(name.c_str()); }
};

}  // namespace

TEST_CASE("kept: it is made at the second call with the same values, and never of values that may change unseen") {
  Net net;
  net.init_parameters();
  std::vector<std::uint64_t> state(64);
  const Images one = images(1, 1), many = images(2, 40);
  Executor executor(Predicting<>::program);
  const auto run = [&](const Images& x, std::uint64_t values) {
    executor.bind(ParameterList(net).base(), reinterpret_cast<std::byte*>(state.data()), values);
    const void* inputs[]{x.data()};
    executor.run(inputs, x.n());
    return executor.keeps();
  };
  CHECK(!run(one, 1));
  CHECK(run(one, 1));
  CHECK(run(one, 1));
  CHECK(!run(one, 2));
  CHECK(run(one, 2));
  CHECK(!run(many, 2));
  CHECK(!run(one, 2));
  CHECK(run(one, 2));
  CHECK(!run(one, 0));
  CHECK(!run(one, 0));
  CHECK(!run(one, 0));
  CHECK(!run(one, 3));
  CHECK(run(one, 3));
}

TEST_CASE("kept: not more than so many bytes") {
  KeptOperands kept;
  for (const long bytes : {most_kept_bytes + 1, 0L, 64L}) {
    CAPTURE(bytes);
    bool same = false;
    kept.forget();
    kept.meet(7);
    CHECK(!kept.fits());
    for (int call = 0; call < 2 && !kept.fits(); ++call) {
      std::byte* const room = kept.room(bytes, 1, same);
      CHECK((room != nullptr) == (bytes == 64 && call == 1));
    }
    CHECK(kept.fits());
    CHECK(kept.made() == (bytes == 64));
  }
}

TEST_CASE("kept: nothing is allocated after the first call, also where values change") {
  if (!support::counted) return;
  Net net;
  Model model{net};
  const Images x = images(1, 1);
  Logits result = model.predict(x);
  const auto weight = drawn_for(net.fc1.weight, 1);
  const auto parameters = net.parameters_dict();
  support::allocations = 0;
  support::counting = true;
  for (int round = 0; round < 3; ++round) {
    for (int call = 0; call < 3; ++call) model.predict_into(result, x);
    parameters["fc1.weight"].set_data(weight.view());
  }
  support::counting = false;
  CHECK(support::allocations == 0);
}

TEST_CASE("kept: every batch size, one after the other, has the bits of PyNative mode") {
  Net net;
  Model model{net};
  for (const long n : {1, 1, 2, 1, 9, 16, 17, 40, 1, 5}) {
    CAPTURE(n);
    check_calls(net, model, images(int(n), n));
  }
}

TEST_CASE("kept: steps of training") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Images x = images(5, 4), one = images(6, 1);
    Net net;
    const auto model_in = [&] {
      const ContextScope scope({.mode = mode});
      return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
    };
    auto trainer = model_in();
    Model model{net};
    for (int step = 0; step < 3; ++step) {
      check_calls(net, model, one);
      const Logits before = model.predict(one);
      trainer.train(1, batch_of(x));
      CHECK(!bit_equal(model.predict(one), before));
      CHECK(!bit_equal(net(one), before));
    }
    check_calls(net, model, one);
  }
}

TEST_CASE("kept: a callback predicts between steps, where values change with each") {
  struct CallEachStep {
    const Net& net;
    Images x;
    void step_end(RunInfo&) {
      const Logits wanted = expected(net, x);
      for (int call = 0; call < 3; ++call) CHECK(bit_equal(net(x), wanted));
    }
  };
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  CallEachStep predicting{net, images(8, 1)};
  model.train(3, batch_of(images(7, 2)), predicting);
}

TEST_CASE("kept: set_data") {
  int seed = 20;
  check_change(
      [&](Net& net, auto&) { net.parameters_dict()["fc2.weight"].set_data(drawn_for(net.fc2.weight, ++seed).view()); });
  check_change([&](Net& net, auto&) {
    net.parameters_dict()["conv1.weight"].set_data(drawn_for(net.conv1.weight, ++seed).view());
  });
  check_change([&](Net& net, auto&) {
    net.parameters_dict()["conv2.weight"].set_data(drawn_for(net.conv2.weight, ++seed).view());
  });
}

TEST_CASE("kept: views and pointers that were handed out, also long before") {
  check_change([](Net& net, auto&) { net.fc1.weight.values()[5] += 1; });
  check_change([](Net& net, auto&) { static_cast<float*>(net.conv1.weight.view().data)[3] += 1; });
  check_change([](Net& net, auto&) { net.parameters_dict()["conv2.weight"].values<float>()[7] += 1; });
  check_change([](Net& net, auto&) {
    for (const auto& [name, tensor] : named_parameters(net)) static_cast<float*>(tensor.data)[0] += 1;
  });
  const Images x = images(4, 1);
  Net net;
  net.init_parameters();
  float* const weight = net.fc2.weight.values().data();
  Model model{net};
  for (int round = 0; round < 3; ++round) {
    *weight += 1;
    check_calls(net, model, x);
  }
}

TEST_CASE("kept: a checkpoint; neither it nor a step hands out a pointer") {
  const Path path;
  const Images x = images(9, 1);
  Net net, other;
  other.init_parameters();
  other.fc1.weight.values()[4] = 2;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  check_calls(net, model, x);
  save_checkpoint(other, path.name);
  load_checkpoint(path.name, net);
  CHECK(bit_equal(model.predict(x), expected(other, x)));
  check_calls(net, model, x);
  model.train(1, batch_of(images(12, 2)));
  save_checkpoint(net, path.name);
  net.parameters_dict()["fc1.bias"].set_data(drawn_for(net.fc1.bias, 1).view());
  check_calls(net, model, x);
  CHECK(ParameterList(net).values() != 0);
  CHECK(ParameterList(other).values() == 0);
}

TEST_CASE("kept: other memory: a clone, a network that is assigned to, a part that was replaced") {
  const Images x = images(10, 1);
  Net net;
  Model model{net};
  check_calls(net, model, x);
  Net copy = net.clone();
  copy.fc2.bias.values()[0] = 5;
  Model copied{copy};
  check_calls(copy, copied, x);
  check_calls(net, model, x);
  net = std::move(copy);
  check_calls(net, model, x);
  nn::Dense<37, 19> part;
  part.init_parameters();
  part.bias.values()[2] = -3;
  net.fc2 = std::move(part);
  check_calls(net, model, x);
  // called in turns, by one thread: each has its own memory
  Net first, second;
  for (int round = 0; round < 3; ++round)
    for (Net* each : {&first, &second}) {
      each->parameters_dict()["fc2.weight"].set_data(drawn_for(each->fc2.weight, round).view());
      for (int call = 0; call < 3; ++call) CHECK(bit_equal((*each)(x), expected(*each, x)));
    }
}

TEST_CASE("kept: threads predict at the same time, and see what was changed between") {
  Net net;
  Model model{net};
  const Images x = images(11, 1);
  for (int round = 0; round < 4; ++round) {
    net.parameters_dict()["fc1.weight"].set_data(drawn_for(net.fc1.weight, 40 + round).view());
    const Logits wanted = expected(net, x);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int call = 0; call < 20; ++call)
          wrong += !bit_equal(model.predict(x), wanted) + !bit_equal(net(x), wanted);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

namespace {
/// Many panels of columns, which threads share.
struct Wide : nn::Cell<Wide> {
  nn::Dense<600, 3001> fc1;
  nn::Dense<3001, 8> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};
/// So many planes that their weights are transformed piece by piece.
template <ConvAlgorithm algorithm>
struct Deep : nn::Cell<Deep<algorithm>> {
  nn::Conv2d<170, 70, 3, nn::Conv2dConfig{.has_bias = true, .algorithm = algorithm}> conv;
  constexpr auto construct(auto x) const { return relu(conv(x)); }
};
/// Groups, whose channels are lanes.
struct Grouped : nn::Cell<Grouped> {
  nn::Conv2d<8, 64, 3, nn::Conv2dConfig{.pad_mode = PadMode::same, .groups = 2}> conv;
  constexpr auto construct(auto x) const { return max_pool2d<2>(relu(conv(x))); }
};

/// Calls in graph mode with one and two threads have the bits of PyNative mode, which are these.
auto check_threads(const auto& net, const auto& x) {
  const auto wanted = [&] {
    const ContextScope scope({.mode = Mode::pynative});
    return net(x);
  }();
  for (const int threads : {1, 2}) {
    const ContextScope scope({.num_threads = threads});
    for (int call = 0; call < 3; ++call) {
      CAPTURE(threads);
      CAPTURE(call);
      CHECK(bit_equal(net(x), wanted));
    }
  }
  return wanted;
}
}  // namespace

TEST_CASE("kept: threads share the work") {
  check_threads(Wide(), random_tensor<float, Shape<dyn, 600>>(1, -1, 1, 1));
  check_threads(Grouped(), random_tensor<float, Shape<dyn, 8, 10, 10>>(2, -1, 1, 1));
  check_threads(Grouped(), random_tensor<float, Shape<dyn, 8, 10, 10>>(3, -1, 1, 3));
}

TEST_CASE("kept: weights of many planes by Winograd, for few tiles and for many") {
  Deep<ConvAlgorithm::winograd> net;
  Deep<ConvAlgorithm::direct> direct;
  net.init_parameters();
  direct.parameters_dict()["conv.weight"].set_data(net.parameters_dict()["conv.weight"].view());
  direct.parameters_dict()["conv.bias"].set_data(net.parameters_dict()["conv.bias"].view());
  const auto kept = net.clone();  // of which no view was handed out
  const auto check = [&](const auto& x) { CHECK(all_close(check_threads(kept, x), direct(x), 1e-4, 1e-4)); };
  check(random_tensor<float, Shape<dyn, 170, 6, 6>>(1, -1, 1, 1));
  check(random_tensor<float, Shape<dyn, 170, 6, 6>>(2, -1, 1, 9));
  check(random_tensor<float, Shape<dyn, 170, 26, 27>>(3, -1, 1, 2));
}
