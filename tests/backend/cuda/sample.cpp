// A kernel per sample and one for the sums over the batch: two works for a training step, with the bits of the
// CPU. (sample_kinds.cpp: other optimizers, frozen parameters, 16 bits, large products.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "../../support/skip.hpp"
#include "sample.hpp"

using namespace sample_test;

namespace {
/// Dropout, averages, a convolution with strides, and activations that are no epilogues.
struct WithDropout : nn::Cell<WithDropout> {
  nn::Conv2d<2, 5, 3, nn::Conv2dConfig{.stride = 2, .has_bias = true}> conv;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop;
  nn::Dense<45, 7> fc1;
  nn::Dense<7, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(tanh(fc1(drop(flatten(avg_pool2d<2>(sigmoid(conv(x)))))))); }
};
/// Too much for a block.
struct Deep : nn::Cell<Deep> {
  static constexpr nn::Conv2dConfig plain{};
  nn::Conv2d<4, 8, 3, plain> conv1;
  nn::Conv2d<8, 8, 3, plain> conv2, conv3, conv4;
  nn::Dense<6272, 5> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(conv4(relu(conv3(relu(conv2(relu(conv1(x)))))))))); }
};
/// Networks that differ in nothing, or in one operator.
template <int number, bool is_tanh = false>
struct Twin : nn::Cell<Twin<number, is_tanh>> {
  nn::Dense<6, 5> fc1;
  nn::Dense<5, 3> fc2;
  constexpr auto construct(auto x) const {
    auto h = fc1(x);
    if constexpr (is_tanh) return fc2(tanh(h));
    else return fc2(relu(h));
  }
};
/// One block of a cluster computes the small head, whose result no other step reads, and all of them the large one.
struct Heads : nn::Cell<Heads> {
  nn::Dense<512, 128> trunk;
  nn::Dense<128, 5> small;
  nn::Dense<128, 256> large;
  constexpr auto construct(auto x) const {
    auto a = trunk(x);
    auto b = tanh(a);
    auto y = small(a);
    return std::tuple(y, large(b));
  }
};
}  // namespace

TEST_CASE("networks with the same graph share their kernels, others do not") {
  const auto data = target_test::images<6>(12, 4, 3);
  CHECK_WORKS(works<Twin<1>>(data), 2);
  CHECK_WORKS(works<Twin<2>>(data), 2);
  CHECK_WORKS((works<Twin<1, true>>(data)), 2);
  const ContextScope scope({.device_target = "GPU", .seed = 7});
  const auto x = Tensor<float, Shape<dyn, 4>>::full(-2.0f, 3);
  const auto positive = jit([](const auto& v) { return relu(v + 1.0f); });
  const auto absolute = jit([](const auto& v) { return abs(v + 1.0f); });
  CHECK(positive(x).data()[3] == 0.0f);
  CHECK(absolute(x).data()[3] == 1.0f);
}

TEST_CASE("LeNet: two works for a step, of clusters where a batch is small") {
  for (const int batch : {1, 2, 17}) {
    CAPTURE(batch);
    CHECK_WORKS(works<support::LeNet>(target_test::images<1, 28, 28>(3 * batch, batch, 10)), 2);
  }
}

TEST_CASE("layers that are fully connected") {
  for (const int batch : {1, 2, 17, 33, 300}) {
    CAPTURE(batch);
    CHECK_WORKS(works<support::Mlp>(target_test::images<20>(3 * batch, batch, 4)), 2);
  }
}

TEST_CASE("dropout draws the words of the batch; strides, averages, sigmoid, and tanh") {
  CHECK_WORKS(works<WithDropout>(target_test::images<2, 12, 12>(51, 17, 3)), 2);
}

TEST_CASE("what does not fit into shared memory runs operator by operator") {
  const std::size_t found = works<Deep>(target_test::images<4, 28, 28>(4, 2, 5));
#if defined(TENON_CUDA_EMULATOR)
  CHECK(found > 3);
  int& shared_bytes = kernel::cuda::queues().shared_bytes;
  const int before = std::exchange(shared_bytes, 52 << 10);  // LeNet needs 54,016, its convolutions 51,276
  CHECK(works<support::LeNet>(target_test::images<1, 28, 28>(6, 2, 10)) > 3);
  shared_bytes = before;
#else
  static_cast<void>(found);
#endif
}

TEST_CASE("a prediction is one work") {
  const auto predicted = [&](std::string_view target) {
    const ContextScope scope({.device_target = target, .seed = 7});
    support::LeNet net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum, nn::Accuracy{}};
    std::vector<float> all;
    const auto x = Tensor<float, Shape<dyn, 1, 28, 28>>::from(std::vector<float>(3 * 784, 0.5f));
    for (int again = 0; again < 3; ++again) {
      const auto y = model.predict(x);
      all.assign(y.values().begin(), y.values().end());
    }
    return all;
  };
  const auto cpu = predicted("CPU");
  CHECK(predicted("GPU") == cpu);
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::launched->items.size() == 1);
#endif
}

TEST_CASE("a step that one block of a cluster does is no barrier for the others") {
  const auto predicted = [&](std::string_view target) {
    const ContextScope scope({.device_target = target, .seed = 7});
    Heads net;
    net.init_parameters();
    Random random(8);
    std::vector<float> pixels(2 * 512);
    for (float& pixel : pixels) pixel = random.uniform(-1, 1);
    const auto x = Tensor<float, Shape<dyn, 512>>::from(pixels);
    std::vector<float> all;
    for (int again = 0; again < 3; ++again) {
      const auto [small, large] = net(x);
      for (const auto& values : {small.values(), large.values()}) all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const auto cpu = predicted("CPU");
  CHECK((predicted("GPU") == cpu));
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::launched->items.size() == 1);
#endif
}

#if defined(TENON_CUDA_EMULATOR)
TEST_CASE("the control: without one of its barriers a step has other bits") {
  if (emulator::with_tsan) return support::say_skipped("ThreadSanitizer, which reports what this control leaves out");
  const auto data = target_test::images<1, 28, 28>(6, 2, 10);
  const Trained cpu = trained<support::LeNet>("CPU", Mode::graph, data, momentum, as_it_is);
  const int before = std::exchange(emulator::multiprocessors, 1);  // a block per sample
  const auto same = [&] {
    try {
      return trained<support::LeNet>("GPU", Mode::graph, data, momentum, as_it_is) == cpu;
    } catch (const Error&) {  // the loss is NaN: shared memory was read that nothing was written to
      return false;
    }
  };
  CHECK(same());
  for (const int left_out : {0, 1, 2, 7}) {
    CAPTURE(left_out);
    emulator::barrier_left_out = left_out;
    CHECK_FALSE(same());
    emulator::barrier_left_out = -1;
  }
  emulator::multiprocessors = before;
}
#endif
