// label: long
// flags: -DTENON_OBSERVE
// Observers see what the bodies of loops and conditions compute, with the names of the loop and of the turn.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tenon/debug/overflow_check.hpp>
#include <tenon/debug/profiler.hpp>
#include <tenon/more.hpp>

#include "../../support/tensors.hpp"

using namespace tenon;

namespace {
constexpr int length = 5;
struct Memory : nn::Cell<Memory> {
  nn::Dense<4, 4> hidden;
  nn::Dense<4, 3> fc;
  constexpr auto construct(auto x) const {
    const auto h = scan([&](auto h, auto v) { return tanh(hidden(h) + v); }, zeros<Shape<dyn, 4>>(x), x);
    const auto y = cond(reduce_mean(h) > 0.0f, [](auto v) { return exp(v); }, [](auto v) { return relu(v); }, h);
    const auto size = reduce_mean(ops::square(y)) + 2.0f;
    return fc(y / while_loop<20>([&](auto r) { return abs(r * r - size) > 1e-5f; },
                                 [&](auto r) { return (r + size / r) * 0.5f; }, size));
  }
};
struct Roots : nn::Cell<Roots> {
  nn::Dense<4, 3> fc;
  constexpr auto construct(auto x) const {
    return fc(scan([](auto h, auto v) { return abs(h) + sqrt(v); }, zeros<Shape<dyn, 4>>(x), x));
  }
};
// Carries values of 12 bytes, of which a bundle has several.
struct Pairs : nn::Cell<Pairs> {
  nn::Dense<3, 3> fc;
  constexpr auto construct(auto x) const {
    const auto first = zeros<Shape<dyn, 3>>(x);
    const auto [a, b] = scan(
        [&](auto state, auto v) {
          const auto& [p, q] = state;
          return std::tuple(tanh(fc(p) + v), q + 1.0f);
        },
        std::tuple(first, first), x);
    const auto [c, d] = cond(
        reduce_mean(a) > 0.0f, [](auto v, auto w) { return std::tuple(exp(v), w); },
        [](auto v, auto w) { return std::tuple(w, relu(v)); }, a, b);
    const auto [e, f] = while_loop<4>([](auto v, auto) { return reduce_mean(v) < 2.0f; },
                                      [](auto v, auto w) { return std::tuple(v + 1.0f, w * v); }, c, d);
    return e + f;
  }
};
auto rows(float value) {
  return dataset::from_arrays(dataset::column<Shape<length, 4>>(std::vector<float>(4 * length * 4, value)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>(4, 1))) |
         dataset::batch(4);
}
/// The last values of each operation.
struct Values {
  std::map<std::string, std::vector<float>> last{};
  std::vector<std::string> under_way{};
  long nested = 0;
  void before(const Operation& operation) {
    under_way.emplace_back(operation.name);
    nested += under_way.size() > 1;
  }
  void after(const Operation& operation, std::span<const AnyTensor>, std::span<const AnyTensor> results) {
    REQUIRE(!under_way.empty());
    CHECK(under_way.back() == operation.name);
    under_way.pop_back();
    if (results[0].dtype != Dtype::float32) return;
    const auto values = results[0].as<float>();
    CHECK(last.emplace(operation.name, std::vector<float>(values.begin(), values.end())).second);
  }
};
template <class... Observers>
std::vector<float> trained(float value, Observers&... observers) {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 3});
  Memory net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.2f}};
  model.train(1, rows(value), observers...);
  std::vector<float> all;
  for (const auto& [name, parameter] : net.parameters_and_names())
    for (const double v : parameter.template values<float>()) all.push_back(float(v));
  return all;
}
const std::string network = "Default/network-Memory";
}  // namespace

TEST_CASE("values in bodies: by the name of the node, of the turn, and of the operation") {
  const std::vector<float> alone = trained(0.5f);
  Values values;
  CHECK(trained(0.5f, values) == alone);
  CHECK(values.nested > 4 * length);
  Memory net;
  {
    const ContextScope scope({.seed = 3});
    net.init_parameters();
  }
  const ContextScope scope({.mode = Mode::pynative, .num_threads = 1});
  auto h = Tensor<float, Shape<dyn, 4>>::full(0.0f, 4);
  const auto v = Tensor<float, Shape<dyn, 4>>::full(0.5f, 4);
  for (int turn = 0; turn < length; ++turn) {
    h = tanh(net.hidden(h) + v);
    const std::string name = text(network, "/Loop-op0/turn", turn, "/network-Memory/hidden-Dense/MatMul-op0");
    CAPTURE(name);
    REQUIRE(values.last.count(name) == 1);  // with bias, sum, and tanh as its epilogue
    CHECK(values.last[name] == std::vector<float>(h.values().begin(), h.values().end()));
    CHECK(values.last.count(text("Gradients/", network, "/Grad_Loop/LoopGrad-op0/turn", turn,
                                 "/network-Memory/hidden-Dense/Grad_MatMul/MatMul-op0")) == 1);
  }
  CHECK(values.last.count(network + "/Cond-op0/then/network-Memory/Exp-op0") == 1);
  CHECK(values.last.count(network + "/Loop-op1/turn2/network-Memory/Div-op0") == 1);
  Values other;
  CHECK(trained(-0.5f, other) == trained(-0.5f));
  CHECK(other.last.count(network + "/Cond-op0/then/network-Memory/Exp-op0") == 0);
  CHECK(other.last.count(network + "/Cond-op0/else/network-Memory/ReLU-op0") == 1);
}

TEST_CASE("what lies between the values of a bundle is 0, whatever the memory had") {
  struct Numbers {
    double largest = 0;
    long values = 0;
    void before(const Operation&) {}
    void after(const Operation&, std::span<const AnyTensor>, std::span<const AnyTensor> results) {
      for (const AnyTensor& result : results)
        if (result.dtype == Dtype::float32)
          for (const float v : result.as<float>())
            ++values, largest = std::isnan(v) ? INFINITY : std::max(largest, std::abs(double(v)));
    }
  };
  // Blocks of all small sizes with large numbers, for those that come after.
  const auto spoil = [] {
    std::vector<Tensor<float, Shape<dyn>>> spoiled;
    for (long n = 1; n < 2000; ++n) spoiled.push_back(Tensor<float, Shape<dyn>>::full(1e30f, n));
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .num_threads = 1});
    const Pairs net;
    const auto x = Tensor<float, Shape<dyn, length, 3>>::full(0.5f, 2);
    const auto expected = net(x);
    spoil();
    Numbers numbers;
    const Observing observing(numbers);
    CHECK(support::same_bits(net(x), expected));
    CHECK(numbers.values > 0);
    CHECK(numbers.largest < 100);
  }
}

TEST_CASE("the profiler adds up the turns, and a loop is not measured twice") {
  const auto folder = std::filesystem::temp_directory_path() / "tenon_turns_profile";
  debug::Profiler profiler(debug::ProfilerOptions{.output_path = folder.string()});
  trained(0.5f);
  profiler.stop();
  const debug::Profile profile = profiler.profile();
  std::map<std::string, long> runs;
  double all = 0;
  for (const debug::OperatorProfile& one : profile.operators)
    runs[std::string(one.operation.name)] = one.runs, all += one.seconds;
  CHECK(runs[network + "/Loop-op0"] == 1);
  CHECK(runs[network + "/Loop-op0/turn/network-Memory/hidden-Dense/MatMul-op0"] == length);
  CHECK(runs[network + "/Cond-op0/then/network-Memory/Exp-op0"] == 1);
  double inside = 0;
  for (const auto& group : profile.groups) inside += group.inside;
  CHECK(all <= inside);
  std::filesystem::remove_all(folder);
}

TEST_CASE("an overflow in a turn is found there") {
  const ContextScope scope({.mode = Mode::graph, .seed = 3});
  std::vector<float> x(4 * length * 4, 1.0f);
  x[2 * 4] = -1;
  Roots net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.2f}};
  debug::OverflowCheck in_training, in_prediction;
  CHECK_THROWS_AS(model.train(1,
                              dataset::from_arrays(dataset::column<Shape<length, 4>>(x),
                                                   dataset::column<Shape<>>(std::vector<std::int32_t>(4, 1))) |
                                  dataset::batch(4),
                              in_training),
                  ValueError);
  CHECK(in_training.operation().starts_with("Default/network-Roots/Loop-op0/turn2/network-Roots/"));
  // without a gradient the observer has the body run operator by operator: the turns are calls
  const Watching watching(in_prediction);
  model.predict(Tensor<float, Shape<dyn, length, 4>>::from(x));
  CHECK(in_prediction.operation() == "Default/network-Roots/Sqrt-op2");
}
