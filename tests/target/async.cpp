// A target whose kernels and copies run in several threads, which events alone keep in order: it computes with the bits
// of the CPU, and copies the next batch while a step computes. The build with -fsanitize=thread finds what is not in
// order.
#define TENON_TARGET async
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include <tenon/ops/print.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../support/printed.hpp"
#include "networks.hpp"

using namespace target_test;

namespace {

struct Losses {
  long every = 1;  // step that reads it
  std::vector<double> value{};
  void step_end(RunInfo& run) {
    if (run.cur_step_num % every == 0) value.push_back(run.loss());
  }
};
struct Trained {
  std::vector<double> losses;
  std::vector<float> values;  // of parameters and moments
  bool operator==(const Trained&) const = default;
};
struct How {
  Mode mode = Mode::graph;
  int epochs = 3;
  long read_every = 100;  // steps after which the loss is read
};
template <class Net, class Data, class... Parts>
Trained train(std::string_view target, How how, const Data& data, const Parts&... parts) {
  const ContextScope scope({.mode = how.mode, .device_target = target, .num_threads = 1, .seed = 5});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, parts...};
  Losses losses{how.read_every};
  model.train(how.epochs, data, losses);
  Trained result{losses.value, {}};
  for (const auto& list : {named_parameters(net), model.optimizer_state()})
    for (const auto& [name, tensor] : list) {
      const auto values = tensor.template as<float>();
      result.values.insert(result.values.end(), values.begin(), values.end());
    }
  return result;
}
/// The same training on both targets, in both modes.
template <class Net>
void check(const auto& data, const auto&... parts) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const How reads{.mode = mode, .read_every = 1};
    const Trained cpu = train<Net>("CPU", reads, data, parts...);
    CHECK(train<Net>("Async", reads, data, parts...) == cpu);
    CHECK(train<Net>("Async", {.mode = mode}, data, parts...).values == cpu.values);
    REQUIRE(cpu.losses.size() > 10);
    CHECK(*std::min_element(cpu.losses.end() - 5, cpu.losses.end()) < cpu.losses.front());
  }
}

const nn::Momentum momentum{.learning_rate = 0.01f, .momentum = 0.9f};

}  // namespace

// The last batch of an epoch is a smaller one.
TEST_CASE("LeNet has the bits of the CPU") { check<support::LeNet>(images<1, 28, 28>(14, 4, 10), momentum); }

TEST_CASE("a network with batch normalization and dropout has the bits of the CPU") {
  check<support::SmallResNet>(images<3, 8, 8>(26, 4, 5), momentum);
}

TEST_CASE("a language model with Adam and a loss scale has the bits of the CPU") {
  check<LanguageModel>(texts(26, 4), nn::Adam{.learning_rate = 0.01f}, DynamicLossScaleManager{});
}

TEST_CASE("computed indices are looked at between the kernels that give and take them") {
  check<TwoTables>(indexed_rows(), momentum);
  check<TwoTables>(indexed_rows(), momentum, DynamicLossScaleManager{});
  const ContextScope scope({.device_target = "Async", .num_threads = 1, .seed = 5});
  TwoTables net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
  CHECK(message_of(model, indexed_rows(16)).starts_with("Gather: index 77 at [1] is outside of -4 .. 3"));
}

TEST_CASE("evaluation and prediction have the bits of the CPU") {
  std::vector<double> loss, accuracy;
  std::vector<float> predicted;
  const auto data = images<3, 8, 8>(26, 4, 5);
  for (const std::string_view target : {"CPU", "Async"}) {
    const ContextScope scope({.device_target = target, .num_threads = 1, .seed = 5});
    support::SmallResNet net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum, nn::Accuracy{}, nn::Loss{}};
    model.train(1, data);
    auto result = model.eval(data);
    loss.push_back(result["loss"]), accuracy.push_back(result["accuracy"]);
    const auto y = model.predict(Tensor<float, Shape<dyn, 3, 8, 8>>::full(0.5f, 7));
    predicted.insert(predicted.end(), y.values().begin(), y.values().end());
  }
  CHECK(loss[0] == loss[1]);
  CHECK(accuracy[0] == accuracy[1]);
  const std::size_t half = predicted.size() / 2;
  CHECK(std::equal(predicted.begin(), predicted.begin() + long(half), predicted.begin() + long(half)));
}

TEST_CASE("the next batch is copied while a step computes, from pinned memory, and steps are recorded once") {
  using namespace kernel::async;
  // Each step ends only when the batch after it is there. (At the end of an epoch the host waits.) The first two steps
  // find no memory for their columns yet, so that their copies are among the kernels.
  constexpr long all = 12, columns = 2;
  long step = 0;
  const long before = copied_beside, steps_before = steps, replayed_before = replayed;
  unpinned_copies = held_in_vain = 0;
  holds_until = [&] {
    ++step;
    return step < 2 ? 0 : before + columns * (std::min(step + 1, all) - 2);
  };
  const auto data = images<1, 28, 28>(4 * all, 4, 10);
  const Trained held = train<support::LeNet>("Async", {.epochs = 1}, data, momentum);
  holds_until = nullptr;
  CHECK(step == all);
  CHECK(held_in_vain == 0);
  CHECK(copied_beside - before == columns * (all - 2));
  CHECK(unpinned_copies == 0);
  CHECK(blocks().count(Blocks::pinned) == 0);  // all have been given back
  CHECK(steps - steps_before == all);
  CHECK(foreign == 0);
  CHECK(replayed - replayed_before == all - 2);  // a step for each place of the columns
  CHECK(held == train<support::LeNet>("CPU", {.epochs = 1}, data, momentum));
}

namespace {
struct Printing : nn::Cell<Printing> {
  nn::Dense<20, 3> fc;
  constexpr auto construct(auto x) const {
    print(x);
    return fc(x);
  }
};
}  // namespace

TEST_CASE("the host looks at a column before any kernel does: at that of this batch") {
  const auto printed = [](std::string_view target) {
    return support::printed_to(stdout, [&] { train<Printing>(target, {}, images<20>(24, 3, 3), momentum); });
  };
  kernel::async::slow_copies = 5000;
  const std::string there = printed("Async");
  kernel::async::slow_copies = 0;
  CHECK(there == printed("CPU"));
}

TEST_CASE("losses that a run has not looked at, because a hook threw, do not end the next run") {
  struct OwnCheck {
    void step_end(RunInfo& run) const {
      if (run.loss() != run.loss()) throw run.cur_step_num;
    }
  };
  const auto rows = [](float first_of_fifth) {
    std::vector<float> x(40 * 20, 0.5f);
    x[4 * 4 * 20] = first_of_fifth;
    return dataset::from_arrays(dataset::column<Shape<20>>(std::move(x)),
                                dataset::column<Shape<>>(std::vector<std::int32_t>(40, 1))) |
           dataset::batch(4);
  };
  const auto check = []<nn::Reduction reduction>(std::integral_constant<nn::Reduction, reduction>, const auto& wrong,
                                                 const auto& right) {
    const ContextScope scope({.device_target = "Async", .num_threads = 1, .seed = 5});
    support::Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits<reduction>{}, nn::SGD{.learning_rate = 0.001f}};
    kernel::async::slow_copies = 20000;  // so that the step is not done when the hook comes
    CHECK_THROWS_AS(model.train(1, wrong, OwnCheck{}), long);
    kernel::async::slow_copies = 0;
    for (const auto& [name, parameter] : net.parameters_dict())
      for (float& value : parameter.view().template as<float>()) value = 0.01f;
    CHECK(message_of(model, right) == "");
  };
  const auto wrong = rows(std::numeric_limits<float>::quiet_NaN()), right = rows(0.5f);
  check(std::integral_constant<nn::Reduction, nn::Reduction::mean>(), wrong, right);
  check(std::integral_constant<nn::Reduction, nn::Reduction::none>(), wrong, right);
}

TEST_CASE("nor does an index out of range that the run before has not looked at") {
  struct Stop {
    void step_end(RunInfo& run) const {
      if (run.cur_step_num == 6) throw run.cur_step_num;
    }
  };
  const ContextScope scope({.device_target = "Async", .num_threads = 1, .seed = 5});
  TwoTables net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum, nn::Loss{}};
  const auto wrong = indexed_rows(16), right = indexed_rows();  // in step 6
  kernel::async::slow_copies = 20000;
  CHECK_THROWS_AS(model.train(1, wrong, Stop{}), long);
  CHECK(message_of(model, right) == "");
  CHECK_THROWS_AS(model.eval(wrong, Stop{}), long);
  CHECK_NOTHROW(model.eval(right));
  kernel::async::slow_copies = 0;
}

TEST_CASE("the target can name what it runs") {
  std::vector<std::string> text;
  kernel::async::text = &text;
  train<support::LeNet>("Async", {.epochs = 1}, images<1, 28, 28>(4, 4, 10), momentum);
  REQUIRE(text.size() > 20);
  CAPTURE(text[0]);
  CHECK(text[0].starts_with("Conv2D in network.conv1 float32 [n,6,28,28] (conv2d.hpp:"));
}

TEST_CASE("device_id chooses among the devices of a target; a model continues on another one") {
  const auto data = images<1, 28, 28>(20, 4, 10);
  const auto trained = [&](std::string_view target, std::initializer_list<int> devices) {
    support::LeNet net;
    std::vector<float> values;
    for (const int device : devices) {
      const ContextScope scope({.device_target = target, .device_id = device, .num_threads = 1, .seed = 5});
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum};
      const long before = kernel::async::steps_on[device];
      model.train(1, data);
      if (target == "Async") CHECK(kernel::async::steps_on[device] == before + 5);
    }
    for (const auto& [name, tensor] : named_parameters(net)) {
      const auto all = tensor.as<float>();
      values.insert(values.end(), all.begin(), all.end());
    }
    return values;
  };
  CHECK(trained("Async", {1, 0, 0, 1}) == trained("CPU", {0, 0, 0, 0}));
  auto x = Tensor{1.0f, 2.0f, 3.0f};
  for (const int device : {0, 1, 1, 0}) {
    const ContextScope scope({.device_target = "Async", .device_id = device});
    x = x * 2.0f - x + 1.0f;
  }
  CHECK(bit_equal(x, Tensor{5.0f, 6.0f, 7.0f}));
  CHECK(kernel::async::foreign == 0);
}

TEST_CASE("a device that the target does not have is one error, and changes nothing") {
  const auto refused = [](const ContextChange& change) -> std::string {
    try {
      set_context(change);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused({.device_target = "Async", .device_id = 2}) ==
        "Argument device_id must be in 0 .. 1 for Async, which has 2 devices here, got 2.");
  CHECK(get_context().device_target == "CPU");
  const ContextScope scope({.device_target = "Async", .device_id = 1});
  CHECK(refused({.device_id = 7}) ==
        "Argument device_id must be in 0 .. 1 for Async, which has 2 devices here, got 7.");
  CHECK_THROWS_AS(set_context("device_id", "2"), ValueError);
  CHECK(get_context().device_id == 1);
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a step that did not wait for its batch would have other bits") {
  using namespace kernel::async;
  const auto data = images<1, 28, 28>(40, 4, 10);
  waits_for_copies = false, slow_copies = 20000;
  const Trained wrong = train<support::LeNet>("Async", {}, data, momentum);
  waits_for_copies = true, slow_copies = 0;
  CHECK(wrong.values != train<support::LeNet>("CPU", {}, data, momentum).values);
}
#endif
