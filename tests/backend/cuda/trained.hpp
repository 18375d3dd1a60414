// A training on the CPU and on the target Cuda, in both modes: losses and weights are equal, bit for bit.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

namespace cuda_test {

using namespace tenon;

/// The losses of the steps, and hashes of all parameters after them.
struct Trained {
  std::vector<double> losses;
  std::vector<std::uint64_t> weights;
};
struct Losses {
  std::vector<double>& all;
  void step_end(RunInfo& run) { all.push_back(run.loss()); }
};

template <class Net>
Trained trained(std::string_view target, Mode mode, int epochs, const auto& data, const auto& optimizer,
                const auto&... more) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, more...};
  Trained result;
  Losses losses{result.losses};
  model.train(epochs, data, losses);
  for (const auto& [name, tensor] : named_parameters(net))
    result.weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
  return result;
}
/// more        what else the Model has, such as amp<AmpLevel::O2>
template <class Net>
void check_trained(int epochs, std::size_t steps, const auto& data, const auto& optimizer, const auto&... more) {
  const Trained cpu = trained<Net>("CPU", Mode::graph, epochs, data, optimizer, more...);
  CHECK(cpu.losses.size() == steps);
  CHECK(cpu.losses.back() < cpu.losses.front());  // two dead networks are equal, too
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    CAPTURE(name(mode));
    const Trained there = trained<Net>("GPU", mode, epochs, data, optimizer, more...);
    CHECK(there.losses == cpu.losses);
    CHECK(there.weights == cpu.weights);
  }
}

}  // namespace cuda_test
