// Nothing is allocated in a step: training, evaluation, prediction, both modes, one and two threads, with prefetch,
// short batches.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/flatten.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/layer/pool/max_pool2d.hpp>

#include "../support/allocations.hpp"
#include "../support/skip.hpp"
#include "../train/small.hpp"

using namespace small;
using namespace support;

namespace {
/// Wide enough that two threads share its products.
struct Wide : nn::Cell<Wide> {
  nn::Dense<3, 256> fc1;
  nn::Dense<256, 256> fc2;
  nn::Dense<256, 2> fc3;
  constexpr auto construct(auto x) const { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// Images [n, 1, 8, 8].
struct Small : nn::Cell<Small> {
  nn::Conv2d<1, 4, 3> conv;
  nn::BatchNorm2d<4> norm;
  nn::MaxPool2d<2, nn::Pool2dConfig{.stride = 2}> pool;
  nn::Flatten flatten;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> dropout;
  nn::Dense<64, 2> fc1;
  constexpr auto construct(auto x) const { return fc1(dropout(flatten(pool(relu(norm(conv(x))))))); }
};

auto images(long count) {
  std::vector<float> x(std::size_t(count) * 64);
  std::vector<std::int32_t> y(static_cast<std::size_t>(count));
  Random random(8);
  for (float& pixel : x) pixel = random.uniform(-1, 1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[64 * i] > 0;
  return dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
}

/// Counts from the end of step `from` to the end of step `to`.
struct Window {
  long from, to, found = -1;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == to) {
      counting = false;
      found = allocations;
    }
    if (run.cur_step_num == from) {
      allocations = 0;
      counting = true;
    }
  }
};

/// Passes over five batches, thus 1,000 steps; few where allocations are not counted.
constexpr int epochs = counted ? 200 : 4;

/// X is the type of a batch; `many` holds as many steps as all epochs of `data`.
template <class Net, class X>
void check_model(Mode mode, int threads, const auto& data, const auto& many, const auto&... precision) {
  CAPTURE(tenon::name(mode));
  CAPTURE(threads);
  const ContextScope scope({.mode = mode, .num_threads = threads});
  Net net;
  nn::Momentum momentum{.learning_rate = 0.01,
                        .momentum = 0.9f,
                        .weight_decay = 1e-4f,
                        .groups = {{.params = {"fc1.*"}, .learning_rate = 0.02}}};
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum, nn::Accuracy{}, nn::Loss{}, precision...};
  const long steps = data.size();
  // A graph knows all from its second step on, also for the short batch; PyNative needs to have seen each batch size.
  Window training{mode == Mode::graph ? 1 : steps, epochs * steps};
  model.train(epochs, data, training);
  CHECK(training.found == 0);
  Window evaluation{mode == Mode::graph ? 1 : 2, epochs * steps};
  if (mode == Mode::pynative) model.eval(data);
  model.eval(many, evaluation);
  CHECK(evaluation.found == 0);

  const auto x = X::full(0.5f, 64), few = X::full(0.5f, 7);
  auto y = model.predict(x), y_few = model.predict(few);
  y = model.predict(x);  // for a moment there are two results
  allocations = 0;
  counting = true;
  for (int i = 0; i < 2 * epochs; ++i) {
    model.predict_into(y, x);
    model.predict_into(y_few, few);
    y = model.predict(x);
  }
  counting = false;
  CHECK(allocations.load() == 0);
}
}  // namespace

TEST_CASE("alloc: the hook counts") {
  allocations = 0;
  counting = true;
  void* volatile p = std::malloc(100);
  std::free(p);
  int* volatile q = new int[100];
  delete[] q;
  p = ::operator new(100, std::align_val_t(64));
  ::operator delete(p, std::align_val_t(64));
  counting = false;
  if (counted) CHECK(allocations.load() == 3);
  else support::say_skipped("allocations cannot be counted in this build");
}

TEST_CASE("alloc: a new tape works in the memory of the last one") {
  const auto x = Tensor<float, Shape<4>>::ones();
  float sum = 0;
  for (int round = 0; round < 5; ++round) {
    allocations = 0;
    counting = round == 4;
    eager::Tape tape;
    tape.watch(x);
    const auto loss = reduce_sum(x * x + x);
    tape.pause();
    tape.backward(loss);
    sum += tape.gradient(x).values()[0];
    counting = false;
  }
  CHECK(allocations.load() == 0);
  CHECK(sum == 15);
}

TEST_CASE("alloc: a step of a Model allocates nothing") {
  const auto data = samples(300) | dataset::shuffle(300) | dataset::batch(64);  // batches of 64 and 44
  const auto many = data | dataset::repeat(epochs);
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int threads : {1, 2}) {
      check_model<Wide, Tensor<float, Shape<dyn, 3>>>(mode, threads, data, many);
      check_model<Wide, Tensor<float, Shape<dyn, 3>>>(mode, threads, data | dataset::prefetch(2),
                                                      many | dataset::prefetch(2));
    }
}

TEST_CASE("alloc: nor does one of a convolutional network") {
  const auto data = images(300) | dataset::shuffle(300) | dataset::batch(64);
  const auto many = data | dataset::repeat(epochs);
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int threads : {1, 2}) check_model<Small, Tensor<float, Shape<dyn, 1, 8, 8>>>(mode, threads, data, many);
}

TEST_CASE("alloc: nor does one in mixed precision, with overflows and a growing loss scale") {
  const auto data = images(300) | dataset::shuffle(300) | dataset::batch(64);
  const auto many = data | dataset::repeat(epochs);
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const int threads : {1, 2})
      check_model<Small, Tensor<float, Shape<dyn, 1, 8, 8>>>(mode, threads, data, many, amp<AmpLevel::O2, float16>,
                                                             DynamicLossScaleManager{.scale_window = 50});
}
