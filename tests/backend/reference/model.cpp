// A Model on Reference: trained, evaluated, asked, saved; in both modes with equal bits, near to what the CPU computes.
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;

namespace {

/// Images [n, 1, 8, 8], with all that a step changes: weights, moments, moving statistics, random streams.
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 4, 3> conv;
  nn::BatchNorm2d<4> norm;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> dropout;
  nn::Dense<64, 3> fc;
  constexpr auto construct(auto x) const { return fc(dropout(flatten(max_pool2d<2>(relu(norm(conv(x))))))); }
};

auto images() {
  Random random(8);
  std::vector<float> x(20 * 64);
  std::vector<std::int32_t> y(20);
  for (float& pixel : x) pixel = random.uniform(-1, 1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i % 3);
  return dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(std::move(x)), dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(8);
}

/// All that a run leaves, as numbers.
struct Result {
  std::vector<float> losses, parameters, moments, prediction;
  double accuracy = 0;

  void step_end(RunInfo& run) { losses.push_back(float(run.loss())); }
};

void take(std::vector<float>& to, const AnyTensor& view) {
  const auto values = view.as<float>();
  to.insert(to.end(), values.begin(), values.end());
}

template <class... Parts>
Result train(std::string_view target, Mode mode, const Parts&... parts) {
  const ContextScope scope({.mode = mode, .device_target = target, .num_threads = 1, .seed = 5});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f},
              nn::Accuracy{}, parts...};
  Result result;
  model.train(3, images(), result);
  result.accuracy = model.eval(images())["accuracy"];
  for (const auto& [name, parameter] : net.parameters_dict()) take(result.parameters, parameter.view());
  for (const auto& [name, moment] : model.optimizer_state()) take(result.moments, moment);
  take(result.prediction, model.predict(Tensor<float, Shape<dyn, 1, 8, 8>>::full(0.5f, 3)).view());
  take(result.prediction, model.predict(Tensor<float, Shape<dyn, 1, 8, 8>>::full(-0.5f, 1)).view());
  return result;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::fmax(worst, std::fabs(double(a[i]) - double(b[i])));
  return worst;
}

void check(const Result& cpu, const Result& graph, const Result& pynative, double tolerance) {
  CHECK(graph.losses == pynative.losses);
  CHECK(graph.parameters == pynative.parameters);
  CHECK(graph.moments == pynative.moments);
  CHECK(graph.prediction == pynative.prediction);
  CHECK(graph.accuracy == pynative.accuracy);
  CHECK(cpu.losses.size() == 9);
  CHECK(cpu.losses.back() < cpu.losses.front());
  CHECK(distance(cpu.losses, graph.losses) < tolerance);
  CHECK(distance(cpu.parameters, graph.parameters) < tolerance);
  CHECK(distance(cpu.moments, graph.moments) < 10 * tolerance);
  CHECK(distance(cpu.prediction, graph.prediction) < 10 * tolerance);
}

}  // namespace

TEST_CASE("a model trains on Reference: equal bits in both modes, the CPU's numbers but for rounding") {
  check(train("CPU", Mode::graph), train("Reference", Mode::graph), train("Reference", Mode::pynative), 1e-5);
}

TEST_CASE("in mixed precision, with a loss scale that overflows") {
  const auto run = [](std::string_view target, Mode mode) {
    return train(target, mode, amp<AmpLevel::O2>,
                 DynamicLossScaleManager{.init_loss_scale = 0x1p24f, .scale_window = 2});
  };
  check(run("CPU", Mode::graph), run("Reference", Mode::graph), run("Reference", Mode::pynative), 2e-2);
}

TEST_CASE("checkpoints are written and read while the target has the parameters") {
  const std::string file = (std::filesystem::temp_directory_path() / "tenon_reference_model.safetensors").string();
  const ContextScope scope({.device_target = "Reference", .seed = 5});
  Net net, other;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.05f}};
  model.train(1, images());
  save_checkpoint(net, file);
  Model second{other, nn::SoftmaxCrossEntropyWithLogits{}};
  const auto x = Tensor<float, Shape<dyn, 1, 8, 8>>::full(0.25f, 2);
  const auto before = second.predict(x);
  load_checkpoint(file, other);
  std::filesystem::remove(file);
  CHECK(bit_equal(second.predict(x), model.predict(x)));
  CHECK(!bit_equal(before, model.predict(x)));
}

TEST_CASE("the target at its construction is that of a model; a cell and a compiled function take that of the call") {
  Net net;
  const auto x = Tensor<float, Shape<dyn, 1, 8, 8>>::full(0.25f, 2);
  const auto cpu = net(x);
  const ContextScope scope({.device_target = "Reference"});
  Model model{net};
  const auto called = net(x);
  {
    const ContextScope back({.device_target = "CPU"});
    CHECK(bit_equal(model.predict(x), called));
    CHECK(bit_equal(net(x), cpu));
  }
  CHECK(distance({cpu.values().begin(), cpu.values().end()}, {called.values().begin(), called.values().end()}) < 1e-5);
}

TEST_CASE("threads share a model on Reference") {
  const ContextScope scope({.device_target = "Reference"});
  Net net;
  const Model model{net};
  const auto x = Tensor<float, Shape<dyn, 1, 8, 8>>::full(0.25f, 2);
  const auto expected = model.predict(x);
  std::vector<std::thread> threads;
  bool equal[4]{};
  for (bool& e : equal)
    threads.emplace_back([&] {
      e = true;
      for (int i = 0; i < 20; ++i) e &= bit_equal(model.predict(x), expected);
    });
  for (std::thread& t : threads) t.join();
  for (const bool e : equal) CHECK(e);
}
