// A training on ranks whose GPUs and NCCL are emulated, for tests.
#pragma once
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tenon/backend/cuda/nccl.hpp>
#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../support/cuda/emulated_nccl.hpp"
#include "../../support/outcome.hpp"

using namespace tenon;

inline const nn::Momentum momentum{.learning_rate = 0.05f, .momentum = 0.9f};

/// Prints a line per mode with a number of all weights, moments, and losses.
template <class Network, class Loss = nn::SoftmaxCrossEntropyWithLogits<>, class Optimizer, class... Parts>
void train(int seed, const Optimizer& optimizer, const Parts&... parts) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = std::uint64_t(seed)});
    Network net;
    Model model{net, Loss{}, optimizer, parts...};
    std::vector<double> losses;
    support::Losses monitor{losses};
    model.train(3, support::bands<Shape<20>>(23) | dataset::batch(12), monitor);
    std::uint64_t number = hash_bytes(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
    for (const auto& tensors : {named_parameters(net), model.optimizer_state()})
      for (const auto& [name, tensor] : tensors)
        number = hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), number);
    std::printf("%s loss %.4f to %.4f, weights %016llx\n", mode == Mode::graph ? "graph" : "pynative", losses.front(),
                losses.back(), static_cast<unsigned long long>(number));
    std::fflush(stdout);
  }
  std::fprintf(stderr, "rank %d: %ld groups of NCCL, %ld bytes\n", dist::get_rank(), emulator::nccl_groups,
               emulator::nccl_bytes);
}
