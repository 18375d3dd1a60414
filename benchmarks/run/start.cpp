// From the start of the process to the end of the first training step of LeNet-5 on a batch of 32, for
// benchmarks/harness/figures.py. Prints a line then: the most memory that was resident, in KB.
#include <cstdio>

#include "../models/lenet.hpp"

using namespace tenon;

int main() {
  std::vector<float> pixels(32 * 28 * 28);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = float(i % 255) / 255;
  std::vector<std::int32_t> labels(32);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i) % 10;
  const auto data = dataset::from_arrays(dataset::column<Shape<1, 28, 28>>(std::move(pixels)),
                                         dataset::column<Shape<>>(std::move(labels)));
  models::LeNet net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, data | dataset::batch(32));
  char line[256];  // not getrusage(): it counts what the process was before exec
  long kilobytes = 0;
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  while (status && !kilobytes && std::fgets(line, sizeof line, status)) std::sscanf(line, "VmHWM: %ld", &kilobytes);
  std::printf("%ld\n", kilobytes);
}
