// LeNet-5 training steps on command, for benchmarks/lenet.py, which interleaves them with PyTorch's.
//
//   lenet BATCH THREADS FILE     writes the initial weights to FILE, then answers each line "graph N" or "pynative N" on
//                                stdin by N training steps: prints their median in microseconds and the last loss
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;
  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

struct StepTimes {
  std::vector<double> seconds;
  double loss = 0;
  void step_end(RunInfo& run) {
    seconds.push_back(run.step_seconds);
    loss = run.loss();
  }
  double median() {
    std::nth_element(seconds.begin(), seconds.begin() + long(seconds.size() / 2), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: lenet BATCH THREADS FILE\n"), 2;
  const long batch = std::atol(argv[1]);
  set_context({.num_threads = std::atoi(argv[2]), .seed = 1});
  std::vector<float> pixels(std::size_t(batch) * 784);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(std::uint32_t(i) * 2654435761u >> 16) / 65536.0f;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i % 10);
  const auto row = dataset::from_arrays(dataset::column<Shape<1, 28, 28>>(pixels), dataset::column<Shape<>>(labels));

  LeNet nets[2];
  const auto model_of = [](LeNet& net, Mode mode) {
    const ContextScope scope({.mode = mode});
    return Model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  };
  auto graph = model_of(nets[0], Mode::graph);
  auto pynative = model_of(nets[1], Mode::pynative);
  save_checkpoint(nets[0], argv[3]);
  std::printf("ready\n");
  std::fflush(stdout);

  char mode[16];
  long steps;
  while (std::scanf("%15s %ld", mode, &steps) == 2) {
    StepTimes times;
    const auto data = row | dataset::batch(batch) | dataset::repeat(steps);
    (std::string(mode) == "graph" ? graph : pynative).train(1, data, times);
    std::printf("%.3f %.9g\n", times.median() * 1e6, times.loss);
    std::fflush(stdout);
  }
}
