// label: long
// Observers on the target Cuda see the values that they see on the CPU, with the same names, in both modes.
#define TENON_TARGET cuda
#if !defined(TENON_OBSERVE)
#define TENON_OBSERVE
#endif
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <tenon/debug/debug.hpp>

#include "../../support/models.hpp"
#include "../../target/networks.hpp"

using namespace tenon;

namespace {
using Hashes = std::map<std::string, std::vector<std::uint64_t>>;
/// Hashes of all results, by the names of the operations.
struct Values {
  static constexpr bool every_value = true;
  Hashes& of;
  void before(const Operation&) {}
  void after(const Operation& operation, std::span<const AnyTensor>, std::span<const AnyTensor> results) {
    for (const AnyTensor& result : results)
      of[std::string(operation.name)].push_back(
          hash_bytes(static_cast<const char*>(result.data), std::size_t(result.bytes()), 0));
  }
};
/// How often each operation ran, as a profiler is told.
struct Times {
  static constexpr ObserverClock clock = [] { return std::int64_t{0}; };
  std::map<std::string, int>& of;
  void before(const Operation&) {}
  void after(const Operation& operation) { ++of[std::string(operation.name)]; }
  void ran(const Operation& operation, std::span<const OperationRun>) { ++of[std::string(operation.name)]; }
};
void train(std::string_view target, Mode mode, auto observer) {
  const ContextScope scope({.mode = mode, .device_target = target, .seed = 3});
  support::SmallResNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
  model.train(1, target_test::images<3, 8, 8>(10, 5, 4), observer);
}
Hashes values(std::string_view target, Mode mode) {
  Hashes all;
  train(target, mode, Values{all});
  return all;
}
}  // namespace

TEST_CASE("every value of a training step") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Hashes cpu = values("CPU", mode), there = values("GPU", mode);
    CHECK(cpu.size() > 40);
    CHECK(there == cpu);
  }
}

TEST_CASE("what a profiler is told") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    std::map<std::string, int> there;
    train("GPU", mode, Times{there});
    CHECK(there.size() > 20);
    for (const auto& [name, count] : there) CHECK_MESSAGE(count % 2 == 0, name);  // two steps
  }
}

TEST_CASE("a check for overflow names the operation") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .device_target = "GPU", .seed = 3});
    support::Mlp net;
    Model model{net};
    net.fc2.weight.values()[0] = INFINITY;
    debug::OverflowCheck check;
    {
      const Observing observing(check);
      model.predict(Tensor<float, Shape<dyn, 20>>::full(1, 3)).data();
    }
    CHECK(check.found());
    CHECK(check.operation().find("fc2") != check.operation().npos);
  }
}
