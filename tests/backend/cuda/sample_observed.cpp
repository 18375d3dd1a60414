// An observer sees each operation of a step that is a kernel per sample where nothing looks at it, with equal bits.
// flags: -DTENON_OBSERVE
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <tenon/train/checkpoint.hpp>

#include "../../support/models.hpp"
#include "../../target/networks.hpp"

using namespace tenon;

namespace {
/// Hashes of all results, by the name of the operation.
struct Watcher {
  std::map<std::string, std::vector<std::uint64_t>> seen{};
  void before(const Operation&) {}
  void after(const Operation& operation, std::span<const AnyTensor>, std::span<const AnyTensor> results) {
    const AnyTensor& first = results[0];
    seen[std::string(operation.name)].push_back(hash_bytes(static_cast<const char*>(first.data), first.bytes(), 0));
  }
};
struct Observed {
  Watcher watcher{};
  std::vector<std::uint64_t> weights{};
};
Observed trained(std::string_view target) {
  const ContextScope scope({.device_target = target, .seed = 7});
  support::Mlp net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const auto data = target_test::images<20>(30, 10, 4);
  Observed run;
  model.train(2, data);
  {
    const Observing observing(run.watcher);
    model.train(1, data);
  }
  model.train(1, data);
  for (const auto& [name, tensor] : named_parameters(net))
    run.weights.push_back(hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), 0));
  return run;
}
}  // namespace

TEST_CASE("values that an observer sees, and weights after a training that was observed for a while") {
  const Observed cpu = trained("CPU"), gpu = trained("GPU");
  CHECK(gpu.weights == cpu.weights);
  CHECK(gpu.watcher.seen.size() > 15);
  CHECK(gpu.watcher.seen == cpu.watcher.seen);
#if defined(TENON_CUDA_EMULATOR)
  CHECK(emulator::launched->items.size() == 2);
#endif
}
