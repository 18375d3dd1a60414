// The executor: frozen parameters, threads, batch sizes, inputs that are missing, and what a policy sees.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <tenon/train/graphs.hpp>

#include "../support/models.hpp"
#include "../support/tensors.hpp"

using namespace support;
using namespace tenon;

namespace {
using Images = TypeKey<Dtype::float32, dyn, 20>;
using Labels = TypeKey<Dtype::int32, dyn>;
using Source = tenon::detail::TrainStep<Mlp, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum<>, Images, Labels>;
using Fused = Compiled<Source>;
using Plain = Compiled<Source, no_passes>;
using Layout = StateLayout<Mlp, nn::Momentum<>>;

/// Memory for one training: parameters, state, and a batch.
struct Training {
  Mlp net;
  std::vector<std::uint64_t> state = std::vector<std::uint64_t>(std::size_t(Layout::table.bytes / 8));
  Tensor<float, Shape<dyn, 20>> x;
  Tensor<std::int32_t, Shape<dyn>> y;

  explicit Training(long n = 6) : x(random_tensor<float, Shape<dyn, 20>>(1, -1, 1, n)), y(random_tensor<std::int32_t, Shape<dyn>>(2, 0, 4, n)) {
    net.init_parameters();
    for (int e = 0; e < Structure<Mlp>::count; ++e)
      if (Layout::table.numbers[e]) {
        const float numbers[]{0.1f, 0, 1, 0.9f};
        std::memcpy(reinterpret_cast<std::byte*>(state.data()) + Layout::table.numbers[e], numbers, sizeof numbers);
      }
  }
  template <class Policy = NoPolicy>
  float step(Executor& executor, const Policy& policy = {}) {
    executor.bind(ParameterList(net).arena()->data, reinterpret_cast<std::byte*>(state.data()));
    const void* inputs[]{x.data(), y.data()};
    executor.run(inputs, x.n(), policy);
    return *static_cast<const float*>(executor.output(0));
  }
  std::string bits() const { return {reinterpret_cast<const char*>(ParameterList(net).arena()->data), std::size_t(ParameterList(net).bytes())}; }
};

/// Writes down what it sees.
struct Watching {
  struct Log {
    std::vector<std::string> before, after;
    long wrong_buffers = 0;
  };
  Log& log;
  void before(const Node& node) const { log.before.emplace_back(node.op->name); }
  void after(const Node& node, const Arguments& a) const {
    log.after.emplace_back(node.op->name);
    for (int k = 0; k <= node.operands; ++k) log.wrong_buffers += a.buffer[k] == nullptr;
  }
};
template <class Graph>
std::vector<std::string> expected_names() {
  std::vector<std::string> names;
  for (int id = 0; id < Graph::graph.count; ++id)
    if (const OperatorInfo& op = *Graph::graph[id].op; !op.leaf && !op.view) names.emplace_back(op.name);
  return names;
}
}  // namespace

TEST_CASE("a policy sees every kernel before and after it ran, in order, with its buffers") {
  Training training;
  Executor fused(Fused::program), plain(Plain::program);
  Watching::Log log, plain_log;
  training.step(fused, Watching{log});
  CHECK(log.before == expected_names<Fused>());
  CHECK(log.after == log.before);
  CHECK(log.wrong_buffers == 0);
  training.step(plain, Watching{plain_log});
  CHECK(plain_log.before == expected_names<Plain>());
  CHECK(plain_log.wrong_buffers == 0);
  CHECK(plain_log.before.size() > log.before.size());
}

namespace {
/// Copies the result of each kernel by the time it has just been computed.
struct Copying {
  std::map<std::string, std::string>& seen;
  void before(const Node&) const {}
  void after(const Node& node, const Arguments& a) const {
    if (node.op->effect) return;
    const auto bytes = std::size_t(node.type.bytes(a.n));
    seen[text(node.op->name, " at ", node.location.line, ":", node.location.column, " scope ", node.scope, " rank ", node.type.rank)].assign(
        static_cast<const char*>(a.buffer[0]), bytes);
  }
};
}  // namespace

TEST_CASE("a graph without passes computes, node by node, the values of the one with passes") {
  Training one, two;
  Executor fused(Fused::program), plain(Plain::program);
  std::map<std::string, std::string> from_fused, from_plain;
  CHECK(one.step(fused, Copying{from_fused}) == two.step(plain, Copying{from_plain}));
  CHECK(one.bits() == two.bits());
  int common = 0;
  for (const auto& [name, bytes] : from_fused)
    if (name.starts_with("SoftmaxCrossEntropy") && from_plain.contains(name)) {
      ++common;
      CHECK(from_plain[name] == bytes);
    }
  CHECK(common >= 2);
}

TEST_CASE("frozen parameters keep their bits, and the work for them is left out") {
  Training training;
  Executor executor(Fused::program);
  Watching::Log all, some, none;
  training.step(executor, Watching{all});

  bool frozen[Structure<Mlp>::count]{};
  const ParameterList list(training.net);
  int fc3_weight = -1;
  for (int e = 0; e < list.entries(); ++e) {
    if (list.table()[e].parameter && parameter_name(list.table(), e) == "fc3.weight") fc3_weight = e;
    frozen[e] = list.table()[e].parameter && !parameter_name(list.table(), e).starts_with("fc3");
  }
  const std::string before = training.bits();
  executor.freeze(frozen);
  training.step(executor, Watching{some});
  const std::string after = training.bits();
  for (int e = 0; e < list.entries(); ++e)
    if (list.table()[e].parameter) {
      const auto offset = std::size_t(list.table()[e].offset), bytes = std::size_t(list.table()[e].dims.bytes(1));
      CHECK((before.substr(offset, bytes) == after.substr(offset, bytes)) == frozen[e]);
    }
  CHECK(some.before.size() < all.before.size() - 6);  // updates, and gradients that only they need

  frozen[fc3_weight] = true;
  for (bool& f : frozen) f = true;
  executor.freeze(frozen);
  training.step(executor, Watching{none});
  CHECK(training.bits() == after);
  CHECK(none.before.size() < some.before.size());
  CHECK(none.before.size() >= 5);  // the loss is an output

  executor.freeze(nullptr);
  Watching::Log again;
  training.step(executor, Watching{again});
  CHECK(again.before == all.before);
  CHECK(training.bits() != after);
}

TEST_CASE("an update whose gradient is missing is left out") {
  using Update = Compiled<tenon::detail::UpdateStep<Mlp, nn::Momentum<>>>;
  Training training;
  Executor executor(Update::program);
  executor.bind(ParameterList(training.net).arena()->data, reinterpret_cast<std::byte*>(training.state.data()));
  auto gradients = std::vector<const void*>(std::size_t(Structure<Mlp>::count));
  const std::string before = training.bits();
  executor.run(gradients.data(), 1);
  CHECK(training.bits() == before);
  const Tensor<float, Shape<32>> ones = Tensor<float, Shape<32>>::full(1);
  gradients[std::size_t(training.net.fc2.bias.entry)] = ones.data();
  executor.run(gradients.data(), 1);
  const std::string after = training.bits();
  const auto offset = std::size_t(Structure<Mlp>::table.entry[training.net.fc2.bias.entry].offset);
  CHECK(after != before);
  CHECK(after.substr(0, offset) == before.substr(0, offset));
  CHECK(after.substr(offset + 128) == before.substr(offset + 128));
}

TEST_CASE("batches that shrink and grow, and any number of threads, give the bits of an executor made for them") {
  Executor kept(Fused::program);
  for (int threads : {1, 2, 3})
    for (long n : {40, 3, 41, 1, 700, 5}) {
      CAPTURE(threads);
      CAPTURE(n);
      const ContextScope scope({.num_threads = threads});
      Training one(n), two(n);
      const ContextScope alone({.num_threads = 1});
      Executor fresh(Plain::program);
      const float expected = two.step(fresh);
      const ContextScope again({.num_threads = threads});
      CHECK(one.step(kept) == expected);
      CHECK(one.bits() == two.bits());
      CHECK(kept.bytes() >= Fused::program.bytes(n, threads));
    }
}

TEST_CASE("an executor that is used for two networks in turn resolves their addresses anew") {
  Executor executor(Fused::program);
  Training one, two, alone;
  one.step(executor), two.step(executor), one.step(executor);
  Executor other(Fused::program);
  alone.step(other), alone.step(other);
  CHECK(one.bits() == alone.bits());
  CHECK(two.bits() != one.bits());
}
