// The executor: frozen parameters, threads, batch sizes, inputs that are missing, and what a policy sees.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <tenon/train/step/graphs.hpp>

#include "../support/models.hpp"
#include "../support/sanitized.hpp"
#include "../support/tensors.hpp"

using namespace support;
using namespace tenon;

namespace {
using Images = TypeKey<Dtype::float32, dyn, 20>;
using Labels = TypeKey<Dtype::int32, dyn>;
using Source = tenon::detail::TrainStep<Mlp, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, Images, Labels>;
using Fused = Compiled<Source>;
using Plain = Compiled<Source, no_passes>;
using Layout = StateLayout<Mlp, nn::Momentum>;

/// Memory for one training: parameters, state, and a batch.
struct Training {
  Mlp net;
  std::vector<std::uint64_t> state = std::vector<std::uint64_t>(std::size_t(Layout::table.bytes / 8));
  Tensor<float, Shape<dyn, 20>> x;
  Tensor<std::int32_t, Shape<dyn>> y;

  explicit Training(long n = 6)
      : x(random_tensor<float, Shape<dyn, 20>>(1, -1, 1, n)), y(random_tensor<std::int32_t, Shape<dyn>>(2, 0, 4, n)) {
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
  std::string bits() const {
    return {reinterpret_cast<const char*>(ParameterList(net).arena()->data), std::size_t(ParameterList(net).bytes())};
  }
};

/// Writes down what it sees.
struct Noting {
  struct Log {
    std::vector<std::string> before, after;
    long wrong_buffers = 0;
  };
  Log& log;
  void before(const Node& node, const Arguments&) const { log.before.emplace_back(node.op->name); }
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
  Noting::Log log, plain_log;
  training.step(fused, Noting{log});
  CHECK(log.before == expected_names<Fused>());
  CHECK(log.after == log.before);
  CHECK(log.wrong_buffers == 0);
  training.step(plain, Noting{plain_log});
  CHECK(plain_log.before == expected_names<Plain>());
  CHECK(plain_log.wrong_buffers == 0);
  CHECK(plain_log.before.size() > log.before.size());
}

namespace {
/// Copies the result of each kernel by the time it has just been computed.
struct Copying {
  std::map<std::string, std::string>& seen;
  void before(const Node&, const Arguments&) const {}
  void after(const Node& node, const Arguments& a) const {
    if (node.op->effect) return;
    const auto bytes = std::size_t(node.type.bytes(a.n));
    seen[text(node.op->name, " at ", node.location.line, ":", node.location.column, " scope ", node.scope, " rank ",
              node.type.rank)]
        .assign(static_cast<const char*>(a.buffer[0]), bytes);
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
  Noting::Log all, some, none;
  training.step(executor, Noting{all});

  bool frozen[Structure<Mlp>::count]{};
  const ParameterList list(training.net);
  int fc3_weight = -1;
  for (int e = 0; e < list.entries(); ++e) {
    if (list.table()[e].parameter && parameter_name(list.table(), e) == "fc3.weight") fc3_weight = e;
    frozen[e] = list.table()[e].parameter && !parameter_name(list.table(), e).starts_with("fc3");
  }
  const std::string before = training.bits();
  executor.freeze(frozen);
  training.step(executor, Noting{some});
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
  training.step(executor, Noting{none});
  CHECK(training.bits() == after);
  CHECK(none.before.size() < some.before.size());
  CHECK(none.before.size() >= 5);  // the loss is an output

  executor.freeze(nullptr);
  Noting::Log again;
  training.step(executor, Noting{again});
  CHECK(again.before == all.before);
  CHECK(training.bits() != after);
}

TEST_CASE("an update whose gradient is missing is left out") {
  using Update = Compiled<tenon::detail::UpdateStep<Mlp, nn::Momentum>>;
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

namespace {
/// Images [n, 1, 8, 8] to 4 logits; most of a step is one group.
struct SmallConv : nn::Cell<SmallConv> {
  nn::Conv2d<1, 3, 3, nn::Conv2dConfig{.has_bias = true}> conv1;
  nn::Conv2d<3, 5, 3, nn::Conv2dConfig{.has_bias = true}> conv2;
  nn::Dense<80, 4> fc;
  constexpr auto construct(auto x) const { return fc(flatten(max_pool2d<2>(relu(conv2(relu(conv1(x))))))); }
};
using ConvSource = tenon::detail::TrainStep<SmallConv, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum,
                                            TypeKey<Dtype::float32, dyn, 1, 8, 8>, Labels>;
using InTiles = Compiled<ConvSource>;
using Untiled = Compiled<ConvSource, Passes{.tile = false}>;
static_assert(InTiles::groups.count == 1 && Untiled::groups.count == 0);
static_assert(InTiles::by_tile && !Untiled::by_tile);
using ConvLayout = StateLayout<SmallConv, nn::Momentum>;

/// What `steps` steps leave: the parameters, and the losses of all steps.
template <class Policy = NoPolicy>
std::string trained(Executor& executor, long n, int threads, int steps = 3, const Policy& policy = {},
                    int frozen_entry = -1) {
  const ContextScope scope({.num_threads = threads, .seed = 5});
  SmallConv net;
  net.init_parameters();
  auto state = std::vector<std::uint64_t>(std::size_t(ConvLayout::table.bytes / 8));
  for (int e = 0; e < Structure<SmallConv>::count; ++e)
    if (ConvLayout::table.numbers[e]) {
      const float numbers[]{0.1f, 0, 1, 0.9f};
      std::memcpy(reinterpret_cast<std::byte*>(state.data()) + ConvLayout::table.numbers[e], numbers, sizeof numbers);
    }
  const auto x = random_tensor<float, Shape<dyn, 1, 8, 8>>(1, -1, 1, n);
  const auto y = random_tensor<std::int32_t, Shape<dyn>>(2, 0, 4, n);
  bool frozen[Structure<SmallConv>::count]{};
  if (frozen_entry >= 0) frozen[frozen_entry] = true, executor.freeze(frozen);
  executor.bind(ParameterList(net).arena()->data, reinterpret_cast<std::byte*>(state.data()));
  std::string bits;
  for (int i = 0; i < steps; ++i) {
    const void* inputs[]{x.data(), y.data()};
    executor.run(inputs, n, policy);
    bits.append(static_cast<const char*>(executor.output(0)), sizeof(float));
  }
  if (frozen_entry >= 0) executor.freeze(nullptr);
  return bits.append(reinterpret_cast<const char*>(ParameterList(net).arena()->data),
                     std::size_t(ParameterList(net).bytes()));
}
}  // namespace

TEST_CASE("tile: any batch on any number of threads gives the bits of rows for the whole batch") {
  Executor tiled(InTiles::program), whole(Untiled::program);
  for (long n :
       {1, 2, 9, 10, 16, 17, 19, 20, 24, 25, 26, 31, 32, 33, 48, 50, 64, 79, 80, 100, 129, 136, 144, 272, 1000}) {
    CAPTURE(n);
    const std::string expected = trained(whole, n, 1);
    for (int threads : {1, 2, 3, 5, 16}) {
      CAPTURE(threads);
      CHECK(trained(tiled, n, threads) == expected);
      CHECK(tiled.bytes() >= InTiles::program.bytes(n, threads));
    }
  }
}

TEST_CASE("tile: a policy sees every row for every tile, the rows of a tile in order, and changes no bit") {
  Executor tiled(InTiles::program);
  for (int threads : {1, 2}) {
    Noting::Log log;
    const std::string expected = trained(tiled, 40, threads, 1);
    CHECK(trained(tiled, 40, threads, 1, Noting{log}) == expected);
    std::vector<std::string> names;
    const auto row_names = [&](bool in_group) {
      for (int id = 0; id < InTiles::graph.count; ++id)
        if (const OperatorInfo& op = *InTiles::graph[id].op;
            !op.leaf && !op.view && !op.part && (InTiles::groups.of[id] > 0) == in_group)
          names.emplace_back(op.name);
    };
    for (int tile = 0; tile < 3; ++tile) row_names(true);
    row_names(false);
    CHECK(log.wrong_buffers == 0);
    CHECK(log.before == log.after);
    CHECK(std::is_permutation(names.begin(), names.end(), log.before.begin(), log.before.end()));
  }
}

TEST_CASE("tile: frozen parameters and their gradients are left out") {
  Executor tiled(InTiles::program), whole(Untiled::program);
  for (int entry = 0; entry < Structure<SmallConv>::count; ++entry)
    if (Structure<SmallConv>::table.entry[entry].parameter) {
      const std::string expected = trained(whole, 40, 1, 3, NoPolicy{}, entry);
      for (int threads : {1, 2}) CHECK(trained(tiled, 40, threads, 3, NoPolicy{}, entry) == expected);
    }
}

TEST_CASE("tile: the values of a step take the memory of one tile, whatever the batch") {
  static_assert(InTiles::plan.size[int(Region::tile)] > 5 * InTiles::plan.size[int(Region::sample)]);
  static_assert(2 * InTiles::plan.bytes(256) < Untiled::plan.bytes(256));
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

TEST_CASE("executor: scratch memory that cannot be had is OutOfMemory, and leaves the executor as it was") {
  Training training, same;
  Executor executor(Fused::program), other(Fused::program);
  CHECK(training.step(executor) == same.step(other));
  const void* inputs[]{training.x.data(), training.y.data()};
  // Nothing is read before there is memory. The last number of bytes is beyond a long.
  CHECK_THROWS_WITH_AS(executor.run(inputs, 1L << 45),
                       doctest::Contains("were asked for the values between the operators of a graph for a batch of "
                                         "35184372088832, "),
                       OutOfMemory);
  for (const long n : {1L << 59, std::numeric_limits<long>::max()})
    CHECK_THROWS_AS(executor.run(inputs, n), OutOfMemory);
  if (!support::sanitized) {  // below 2^48 bytes, the most that is asked for; beyond 2^47 no process has them
    const long n = (3L << 46) / (Fused::program.bytes(2048, 1) - Fused::program.bytes(1024, 1)) * 1024;
    CHECK_THROWS_AS(executor.run(inputs, n), OutOfMemory);
  }
  CHECK(training.step(executor) == same.step(other));
  CHECK(training.bits() == same.bits());
}
