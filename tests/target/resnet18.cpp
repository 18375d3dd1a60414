// label: long
// A real network, ResNet-18 on 32 x 32 images, in the measures of residency.cpp: what a step moves, and how often the
// host waits. Prints the numbers.
#define TENON_TARGET counting
#define TENON_TEST_CPU_KERNELS
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>

#include "../../benchmarks/models/resnet18.hpp"

using namespace tenon;
using kernel::counting::Counts;

namespace {

struct Count {
  bool reads = false;
  std::vector<Counts> counts{};
  std::vector<double> losses{};
  void begin(RunInfo&) { kernel::counting::reset(); }
  void step_end(RunInfo& run) {
    if (reads) losses.push_back(run.loss());
    counts.push_back(kernel::counting::counts);
    kernel::counting::reset();
  }
};

Count train(std::string_view target, bool reads) {
  constexpr int batch = 4, steps = 6;
  Random random(8);
  std::vector<float> x(batch * steps * 3 * 32 * 32);
  std::vector<std::int32_t> y(batch * steps);
  for (float& pixel : x) pixel = random.uniform(-1, 1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i) % 10;
  const ContextScope scope({.device_target = target, .num_threads = 1, .seed = 5});
  models::ResNet18 net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  Count result{reads};
  model.train(
      1,
      dataset::from_arrays(dataset::column<Shape<3, 32, 32>>(x), dataset::column<Shape<>>(y)) | dataset::batch(batch),
      result);
  return result;
}

}  // namespace

TEST_CASE("ResNet-18: the batch goes in, the loss comes out if somebody reads it") {
  constexpr long batch = 4 * (3 * 32 * 32 + 1) * 4;
  for (const bool reads : {false, true}) {
    const Count there = train("Counting", reads);
    REQUIRE(there.counts.size() == 6);
    for (std::size_t i = 0; i < there.counts.size(); ++i) {
      const Counts& step = there.counts[i];
      std::printf("%s, step %d: %ld launches, in %ld bytes in %ld copies, out %ld in %ld, %ld waits\n",
                  reads ? "loss read" : "loss not read", int(i) + 1, step.launches, step.bytes_in, step.copies_in,
                  step.bytes_out, step.copies_out, step.waits);
      if (i == 0) continue;  // it takes the network there
      CHECK(step.bytes_in == batch);
      CHECK(step.bytes_out <= 64);
      CHECK(step.waits == int(reads));
      CHECK(step.submits == 1);
    }
    if (reads) CHECK(there.losses == train("CPU", true).losses);
  }
}
