// label: long
// What passes between the host and a second target in a step of a graph: the batch goes there, and what somebody asked
// for comes back.
#define TENON_TARGET counting
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

#include "networks.hpp"

using namespace target_test;
using kernel::counting::Counts;

namespace {

const ContextChange there{.device_target = "Counting", .num_threads = 1, .seed = 5};

/// What each step costs, with all that the callbacks before this one have asked for.
struct Count {
  long read_every = 0;  // steps after which it reads the loss, 0: never
  std::vector<Counts> steps{};
  std::vector<double> losses{};

  void begin(RunInfo&) { kernel::counting::reset(); }
  void step_end(RunInfo& run) {
    if (read_every && run.cur_step_num % read_every == 0) losses.push_back(run.loss());
    steps.push_back(kernel::counting::counts);
    kernel::counting::reset();
  }
};

/// The bars for all steps but the first, which takes the network there. `numbers`: bytes of those that an optimizer
/// may change in each step.
void check_steps(const std::vector<Counts>& steps, long batch, long numbers, long waits) {
  REQUIRE(steps.size() > 4);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    CAPTURE(i);
    CHECK(steps[i].launches == steps[1].launches);
    CHECK(steps[i].bytes_in >= batch);
    CHECK(steps[i].bytes_in <= batch + numbers);
    CHECK(steps[i].bytes_out <= 64);
    CHECK(steps[i].waits <= waits);
  }
}

/// A training with and without a reader of the loss, and with a loss scale.
template <class Net, class Optimizer>
void check_training(const auto& data, long batch, long numbers, const Optimizer& optimizer) {
  const ContextScope scope(there);
  std::vector<double> losses;
  for (const long read_every : {0L, 1L, 3L}) {
    CAPTURE(read_every);
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
    Count count{read_every};
    model.train(1, data, count);
    check_steps(count.steps, batch, numbers, read_every ? 1 : 0);
    if (read_every == 3)
      for (std::size_t i = 1; i < count.steps.size(); ++i) CHECK(count.steps[i].waits <= long((i + 1) % 3 == 0));
    if (read_every == 1) losses = count.losses;
  }
  REQUIRE(!losses.empty());
  for (const bool read : {false, true}) {
    CAPTURE(read);
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer, DynamicLossScaleManager{.init_loss_scale = 256}};
    Count count{read};
    model.train(1, data, count);
    check_steps(count.steps, batch, numbers + 64, 1);
    if (read)
      for (std::size_t i = 0; i < losses.size(); ++i)
        CHECK(count.losses[i] == doctest::Approx(losses[i]).epsilon(1e-3));
  }
}

}  // namespace

TEST_CASE("LeNet") {
  check_training<support::LeNet>(images<1, 28, 28>(12, 2, 10), 2 * (28 * 28 + 1) * 4, 0,
                                 nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
}

TEST_CASE("a network with batch normalization and dropout, whose random numbers need the step") {
  check_training<support::SmallResNet>(images<3, 8, 8>(24, 4, 5), 4 * (3 * 8 * 8 + 1) * 4, 16,
                                       nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
}

TEST_CASE("a language model with Adam, whose numbers change in each step") {
  constexpr long numbers = 64 * Structure<LanguageModel>::count;
  check_training<LanguageModel>(texts(24, 4), 4 * 12 * 4, numbers, nn::Adam{.learning_rate = 0.01f});
}

TEST_CASE("sums over batches and clipped gradients stay there, with the bits of PyNative mode") {
  const auto train = [](Mode mode, const auto& optimizer) {
    const ContextScope scope({.mode = mode, .device_target = "Counting", .num_threads = 1, .seed = 5});
    support::Mlp net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
    Count count;
    model.train(1, images<20>(36, 3, 4), count);
    if (mode == Mode::graph) check_steps(count.steps, 3 * (20 + 1) * 4, 64 * (Structure<support::Mlp>::count + 1), 0);
    std::vector<float> all;
    for (const auto& list : {named_parameters(net), model.optimizer_state()})
      for (const auto& [name, tensor] : list) {
        const auto values = tensor.template as<float>();
        all.insert(all.end(), values.begin(), values.end());
      }
    return all;
  };
  const auto check = [&](const auto& optimizer) {
    const std::vector<float> graph = train(Mode::graph, optimizer);
    CHECK(graph == train(Mode::pynative, optimizer));
    return graph;
  };
  const nn::Adam adam{.learning_rate = 0.01f};
  const auto all = check(nn::AccumulateGradients{adam, 3});
  CHECK(all != check(nn::ClipByGlobalNorm{nn::AccumulateGradients{adam, 3}, 0.01f}));
  CHECK(all != check(nn::ClipByValue{adam, 0.001f}));
}

namespace {
/// Each sample goes through the row of a table that is nearest to it.
template <int rows, bool twice = false>
struct Quantized : nn::Cell<Quantized<rows, twice>> {
  nn::Dense<20, 8> near;
  Parameter<float, Shape<rows, 16>, nn::Normal{0.5f}> table;
  nn::Dense<16, 4> head;
  constexpr auto construct(auto x) const {
    const auto row = argmax(near(x));
    if constexpr (twice) return head(gather(table, row + row));
    else return head(gather(table, row));
  }
};
}  // namespace

TEST_CASE("indices that an argmax gives are inside of a table that is long enough: nobody looks at them") {
  const ContextScope scope(there);
  const auto launches = [](auto&& net) {
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.01f}};
    Count count;
    model.train(1, images<20>(36, 3, 4), count);
    CHECK(count.steps.at(5).waits == 0);
    return count.steps.at(5).launches;
  };
  CHECK(launches(Quantized<15, true>{}) > launches(Quantized<8>{}) + 1);  // the sum, and looks forward and backward
}

TEST_CASE("other computed indices are looked at there, without a wait; all that follows a wrong one does not happen") {
  const auto weights = [](auto& net) {
    std::vector<float> all;
    for (const auto& [name, tensor] : named_parameters(net))
      for (const float value : tensor.template as<float>()) all.push_back(value);
    return all;
  };
  const auto check = [&](const auto&... parts) {
    std::vector<float> before_error[2];
    for (const bool on_cpu : {true, false}) {
      const ContextScope scope({.device_target = on_cpu ? "CPU" : "Counting", .num_threads = 1, .seed = 5});
      TwoTables net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, parts...};
      std::string message = message_of(model, indexed_rows(16));
      CAPTURE(message);
      CHECK(message.starts_with("Gather: index 77 at [1] is outside of -4 .. 3, the 4 rows of the table [4,4]."));
      before_error[on_cpu] = weights(net);
      CHECK(message_of(model, indexed_rows()) == "");
      CHECK(weights(net) != before_error[on_cpu]);
    }
    for (std::size_t i = 0; i < before_error[0].size(); ++i)
      CHECK(before_error[0][i] == doctest::Approx(before_error[1][i]).epsilon(1e-4));
  };
  const nn::SGD sgd{.learning_rate = 0.01f};
  check(sgd);
  check(sgd, DynamicLossScaleManager{.init_loss_scale = 256});
  check(nn::AccumulateGradients{sgd, 2});
  const ContextScope scope(there);
  for (const long read_every : {0L, 1L}) {
    TwoTables net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, sgd};
    Count count{read_every};
    model.train(1, indexed_rows(), count);
    check_steps(count.steps, 3 * (20 + 1) * 4, 0, read_every);
    for (const Counts& step : count.steps) CHECK(step.submits == 1);
  }
  TwoTables net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, sgd, nn::Accuracy{}};
  Count count;
  model.eval(indexed_rows(), count);
  for (const Counts& step : count.steps) CHECK(step.waits <= 1);
  CHECK_THROWS_WITH_AS(model.eval(indexed_rows(16)), doctest::Contains("Gather: index 77"), ValueError);
}

namespace {
/// 30 batches of 32 samples, a NaN among the first ones of the twelfth if it `breaks`.
auto rows_of_32(bool breaks) {
  constexpr int rows = 32, batches = 30;
  std::vector<float> x(rows * batches * 20, 0.5f);
  if (breaks) x[20 * rows * 11] = std::numeric_limits<float>::quiet_NaN();
  return dataset::from_arrays(dataset::column<Shape<20>>(std::move(x)),
                              dataset::column<Shape<>>(std::vector<std::int32_t>(rows * batches, 1))) |
         dataset::batch(rows);
}
}  // namespace

TEST_CASE("losses per sample stay there, a flag of them comes without a wait, and is checked late") {
  const ContextScope scope(there);
  for (const long read_every : {0L, 1L, 3L})
    for (const bool breaks : {false, true}) {
      CAPTURE(read_every);
      CAPTURE(breaks);
      support::Mlp net;
      Model model{net, nn::SoftmaxCrossEntropyWithLogits<nn::Reduction::none>{}, nn::SGD{.learning_rate = 0.001f}};
      Count count{read_every};
      const std::string message = message_of(model, rows_of_32(breaks), count);
      CAPTURE(message);
      CHECK(message.starts_with("Model.train: the loss is NaN or infinite at epoch 1, step 12 (global step 12).") ==
            breaks);
      REQUIRE(count.steps.size() >= 11);
      CHECK(count.steps.size() <= (breaks ? 12 + 8 : 30));
      for (std::size_t i = 1; i < count.steps.size(); ++i) {
        const bool reads = read_every && (long(i) + 1) % read_every == 0;
        CHECK(count.steps[i].bytes_in == 32 * (20 + 1) * 4);
        CHECK(count.steps[i].bytes_out == 4 + (reads ? 32 * 4 : 0));
        CHECK(count.steps[i].waits == long(reads));
        CHECK(count.steps[i].submits == 1);
      }
    }
}

TEST_CASE("after a loss per sample that was not finite, a training with good data and weights is as any other") {
  const ContextScope scope(there);
  support::Mlp net, fresh;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits<nn::Reduction::none>{}, nn::SGD{.learning_rate = 0.001f}};
  CHECK(message_of(model, rows_of_32(true)) != "");
  for (const auto& [name, parameter] : net.parameters_dict())
    for (float& value : parameter.view().template as<float>()) value = 0.01f;
  CHECK(message_of(model, rows_of_32(false)) == "");
}

TEST_CASE("metrics get the prediction, in one wait for each batch") {
  const ContextScope scope(there);
  support::SmallResNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.01f}, nn::Accuracy{}, nn::Loss{}};
  const auto data = images<3, 8, 8>(24, 4, 5);
  model.train(1, data);
  Count count;
  model.eval(data, count);
  REQUIRE(count.steps.size() == 6);
  for (const Counts& step : count.steps) {
    CHECK(step.bytes_in == 4 * (3 * 8 * 8 + 1) * 4);
    CHECK(step.bytes_out <= 4 * 5 * 4 + 64);
    CHECK(step.waits <= 1);
  }
}

TEST_CASE("a checkpoint takes parameters and moments, and does not send them back") {
  const auto folder = std::filesystem::temp_directory_path() / "tenon_residency";
  const ContextScope scope(there);
  support::Mlp net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  constexpr long batch = 2 * (20 + 1) * 4, parameters = Structure<support::Mlp>::table.bytes;
  Count count;
  model.train(1, images<20>(60, 2, 4),
              ModelCheckpoint{"m", folder.string(), CheckpointConfig{.save_checkpoint_steps = 10}}, count);
  std::filesystem::remove_all(folder);
  REQUIRE(count.steps.size() == 30);
  for (std::size_t i = 1; i < count.steps.size(); ++i) {
    CAPTURE(i);
    const bool saves = i % 10 == 0;  // ModelCheckpoint comes after the other callbacks of a step
    CHECK(count.steps[i].bytes_in == batch);
    CHECK(count.steps[i].bytes_out <= 64 + (saves ? 2 * parameters : 0));
    CHECK((count.steps[i].waits > 0) == saves);
  }
}

TEST_CASE("the kernel calls of a step are the same bytes in each step") {
  const ContextScope scope(there);
  struct Compare {
    std::vector<std::byte> before{};
    long same = 0, steps = 0;
    void begin(RunInfo&) { kernel::counting::reset(), kernel::counting::keeps_launches = true; }
    void step_end(RunInfo&) {
      ++steps;
      same += !before.empty() && kernel::counting::launched == before;
      before = kernel::counting::launched;
      kernel::counting::reset();
    }
    void end(RunInfo&) { kernel::counting::keeps_launches = false; }
  };
  const auto check = [](auto&& net, const auto& data, const auto&... parts) {
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, parts...};
    Compare compare;
    model.train(1, data, compare);
    CHECK(compare.before.size() > 20 * sizeof(detail::Launch));
    CHECK(compare.steps == 100);
    CHECK(compare.same == 99);
  };
  check(support::SmallResNet{}, images<3, 8, 8>(200, 2, 5), nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f});
  check(LanguageModel{}, texts(200, 2), nn::Adam{.learning_rate = 0.01f}, DynamicLossScaleManager{});
}

TEST_CASE_TEMPLATE("a step comes in one piece; recorded once and replayed, it has the same bits", Net, LanguageModel,
                   support::SmallResNet) {
  const ContextScope scope(there);
  constexpr bool has_dropout = std::is_same_v<Net, support::SmallResNet>;
  const auto data = [] {
    if constexpr (has_dropout) return images<3, 8, 8>(40, 4, 5);
    else return texts(40, 4);
  }();
  std::vector<float> weights[2];
  std::vector<double> losses[2];
  for (const bool replays : {false, true}) {
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, DynamicLossScaleManager{}};
    Count count{1};
    kernel::counting::replays = replays;
    model.train(2, data, count);
    kernel::counting::replays = false;
    REQUIRE(count.steps.size() == 20);
    for (std::size_t i = 0; i < count.steps.size(); ++i) {
      CHECK(count.steps[i].submits == 1);
      CHECK(count.steps[i].replayed == (replays && i > 0));
    }
    losses[replays] = count.losses;
    for (const auto& [name, parameter] : net.parameters_dict()) {
      const auto values = parameter.view().template as<float>();
      weights[replays].insert(weights[replays].end(), values.begin(), values.end());
    }
  }
  CHECK(losses[0] == losses[1]);
  CHECK(weights[0] == weights[1]);
  if (!has_dropout) CHECK(losses[0].back() < losses[0].front());
}

TEST_CASE("a loss that is not finite ends the run, and the error names its step, though nobody reads losses") {
  const ContextScope scope(there);
  std::vector<float> x(100 * 4, 0.5f);
  std::vector<std::int32_t> y(100, 1);
  x[4 * 37] = std::numeric_limits<float>::quiet_NaN();
  const auto data = dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<>>(y)) | dataset::batch(1);
  nn::Dense<4, 2> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.01f}};
  std::string message;
  try {
    model.train(1, data);
  } catch (const ValueError& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.starts_with("Model.train: the loss is NaN at epoch 1, step 38 (global step 38)."));
  CHECK(model.global_step() <= 38 + 8);
}
