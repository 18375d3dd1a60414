// A program with several targets beside the CPU: device_target chooses among them.
// clang-format off: no space after the comma
#define TENON_TARGET reference,counting
// clang-format on
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/tenon.hpp>

#include "../support/models.hpp"

using namespace tenon;

namespace {

auto images() {
  Random random(8);
  std::vector<float> x(20 * 3 * 64);
  std::vector<std::int32_t> y(20);
  for (float& pixel : x) pixel = random.uniform(-1, 1);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i % 5);
  return dataset::from_arrays(dataset::column<Shape<3, 8, 8>>(std::move(x)), dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(8);
}

struct Losses {
  std::vector<double> value{};
  void step_end(RunInfo& run) { value.push_back(run.loss()); }
};

/// The losses and the parameters of a training, and how many kernels Counting has run in it.
struct Trained {
  std::vector<double> losses;
  std::vector<float> parameters;
  long launches = 0;
};
Trained train(std::string_view target, Mode mode) {
  const ContextScope scope({.mode = mode, .device_target = target, .num_threads = 1, .seed = 5});
  kernel::counting::reset();
  support::SmallResNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f}};
  Losses losses;
  model.train(2, images(), losses);
  Trained result{losses.value, {}, kernel::counting::counts.launches};
  for (const auto& [name, parameter] : net.parameters_dict()) {
    const auto values = parameter.view().as<float>();
    result.parameters.insert(result.parameters.end(), values.begin(), values.end());
  }
  return result;
}

std::vector<float> numbers_of(const auto& x) { return {x.values().begin(), x.values().end()}; }

}  // namespace

TEST_CASE("a model trains on each target: equal bits where the kernels are the same") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const Trained cpu = train("CPU", mode), reference = train("Reference", mode), counting = train("Counting", mode);
    CHECK(counting.losses == reference.losses);
    CHECK(counting.parameters == reference.parameters);
    CHECK(cpu.launches == 0);
    CHECK(reference.launches == 0);
    CHECK(counting.launches > 6 * 20);
    REQUIRE(cpu.losses.size() == reference.losses.size());
    for (std::size_t i = 0; i < cpu.losses.size(); ++i)
      CHECK(cpu.losses[i] == doctest::Approx(reference.losses[i]).epsilon(1e-4));
  }
}

TEST_CASE("a model continues on another target, whatever has its parameters") {
  std::vector<float> expected;
  for (const bool moves : {false, true}) {
    support::Mlp net;
    const auto x = Tensor<float, Shape<dyn, 20>>::full(0.25f, 3);
    std::vector<float> found;
    for (const std::string_view target : {"Reference", "Counting", "Reference"}) {
      const ContextScope scope({.device_target = moves ? target : "Reference", .seed = 5});
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}};
      const auto data = dataset::from_arrays(dataset::column<Shape<20>>(std::vector<float>(200, 0.5f)),
                                             dataset::column<Shape<>>(std::vector<std::int32_t>(10, 1))) |
                        dataset::batch(5);
      model.train(1, data);
      found = numbers_of(model.predict(x));
    }
    if (moves) CHECK(found == expected);
    expected = found;
  }
}

TEST_CASE("tensors move from target to target") {
  auto x = Tensor{1.0f, 2.0f, 3.0f};
  for (int round = 0; round < 3; ++round)
    for (const std::string_view target : {"Reference", "Counting", "CPU", "Counting", "Reference"}) {
      const ContextScope scope({.device_target = target});
      x = x * 2.0f - x + 1.0f;
    }
  CHECK(numbers_of(x) == std::vector{16.0f, 17.0f, 18.0f});
}

TEST_CASE("a name that is none says which there are") {
  try {
    set_context({.device_target = "Countin"});
    FAIL("it was taken");
  } catch (const ValueError& error) {
    const std::string_view message = error.what();
    CAPTURE(message);
    CHECK(message.find("one of 'CPU', 'GPU', 'Ascend', 'Reference', 'Counting'") != message.npos);
    CHECK(message.find("Did you mean 'Counting'?") != message.npos);
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child computes on all of them") {
  const auto works = [] {
    auto x = Tensor{1.0f, 2.0f};
    for (const std::string_view target : {"Reference", "Counting"}) {
      const ContextScope scope({.device_target = target});
      x = x + x;
    }
    return numbers_of(x) == std::vector{4.0f, 8.0f} ? 0 : 1;
  };
  CHECK(works() == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // for one that waits for ever
    ::_exit(works());
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(works() == 0);
}
#endif
