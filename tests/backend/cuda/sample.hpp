// What tests of a kernel per sample share: trainings on the CPU and on the GPU, and how many works a step has there.
#pragma once
#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include <tenon/train/checkpoint.hpp>

#include "../../support/models.hpp"
#include "../../target/networks.hpp"

namespace sample_test {

using namespace tenon;

/// The losses of some steps, and hashes of all parameters after them.
struct Trained {
  std::vector<double> losses{};
  std::vector<std::uint64_t> weights{};
  bool operator==(const Trained&) const = default;
};
struct Losses {
  std::vector<double>& all;
  void step_end(RunInfo& run) { all.push_back(run.loss()); }
};
inline const nn::Momentum momentum{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-3f};

/// `prepare` changes the network before it is trained.
template <class Net, class Prepare, class Optimizer, class... Parts>
Trained trained(std::string_view target, Mode mode, const auto& data, const Optimizer& optimizer, Prepare prepare,
                Parts... parts) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 7});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, parts...};
  net.init_parameters();
  prepare(net);
  Trained result;
  Losses losses{result.losses};
  model.train(2, data, losses);
  for (const auto& [name, tensor] : named_parameters(net))
    result.weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
  return result;
}
inline const auto as_it_is = [](auto&) {};

/// Trains on the CPU and on the GPU, and says how many works the last step of the GPU had.
template <class Net, class Prepare = decltype(as_it_is), class Optimizer = nn::Momentum, class... Parts>
std::size_t works(const auto& data, const Optimizer& optimizer = momentum, Prepare prepare = as_it_is, Parts... parts) {
  const Trained cpu = trained<Net>("CPU", Mode::graph, data, optimizer, prepare, parts...);
  CHECK(cpu.losses.back() != cpu.losses.front());
#if defined(TENON_CUDA_EMULATOR)
  emulator::launched = nullptr;
#endif
  CHECK(trained<Net>("GPU", Mode::graph, data, optimizer, prepare, parts...) == cpu);
#if defined(TENON_CUDA_EMULATOR)
  return emulator::launched ? emulator::launched->items.size() : 0;
#else
  return 0;
#endif
}
#if defined(TENON_CUDA_EMULATOR)
#define CHECK_WORKS(found, expected) CHECK(found == expected)
#else
#define CHECK_WORKS(found, expected) found
#endif

}  // namespace sample_test
