// What callbacks print under fit(), against what MindSpore printed (golden/console): lines, epochs, names. Losses are
// others, for its initial values are random.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sstream>

#include <tenon/nn/metric/metric_set.hpp>
#include <tenon/train/callbacks.hpp>

#include "../support/console.hpp"
#include "../train/callback/output.hpp"
#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;

namespace {
using Judged = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::MetricSet>;
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }

/// What callbacks print in so many epochs of fit(), in the mode of the golden scripts.
template <class... C>
std::string fit(long epochs, nn::MetricSet metrics, C&&... callbacks) {
  const ContextScope scope({.mode = Mode::pynative, .seed = 1});
  Net net;
  Judged model(net, {}, momentum(), std::move(metrics));
  return printed([&] { model.fit(epochs, four_steps(), four_steps(), callbacks...); });
}
/// Without the lines of TimeMonitor, which has the form of MindSpore 1.
std::string without_times(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (line.find("epoch time: ") == line.npos) rest += line + "\n";
  return rest;
}
std::string golden(const std::string& name) { return support::console(name + ".pynative", "stdout"); }
}  // namespace

TEST_CASE("fit: losses, and the results of the evaluations") {
  if (!support::have_shared("golden/console")) return;
  const std::string here = fit(3, {"acc", "loss"}, LossMonitor(4), TimeMonitor());
  CHECK(support::without_reals(without_times(here)) == support::without_reals(without_times(golden("fit"))));
}

TEST_CASE("early stopping: the line and its epoch") {
  if (!support::have_shared("golden/console")) return;
  const std::string here =
      fit(8, {"acc"}, EarlyStopping{.monitor = "eval_loss", .min_delta = 0.5, .patience = 2, .verbose = true});
  CHECK(here == golden("early_stopping"));
}

TEST_CASE("reduce on plateau: the lines, their epochs and rates") {
  if (!support::have_shared("golden/console")) return;
  const std::string here =
      fit(6, {"acc"},
          ReduceLROnPlateau{
              .monitor = "eval_loss", .factor = 0.1, .patience = 2, .verbose = true, .min_delta = 0.5, .min_lr = 0.001},
          LossMonitor(100));
  const auto rates = [](const std::string& text) {
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);)
      kept += (line.starts_with("Eval result") ? support::without_reals(line) : line) + "\n";
    return kept;
  };
  CHECK(rates(here) == rates(golden("reduce_lr_on_plateau")));
}

TEST_CASE("history and lambda: epochs and names") {
  if (!support::have_shared("golden/console")) return;
  History history;
  const std::string here =
      fit(2, {"acc"}, history,
          LambdaCallback{.on_train_epoch_end = [](RunInfo& run) { std::printf("lambda %ld\n", run.cur_epoch_num); }});
  std::string all = here + "{'epoch': [1, 2]} {";
  CHECK(history.epoch == std::vector<long>{1, 2});
  for (const char* name : {"net_output", "acc"}) {  // in MindSpore's order
    CHECK(history.history.at(name).size() == 2);
    all += std::string(all.ends_with('{') ? "'" : ", '") + name + "': [#, #]";
  }
  CHECK(history.history.size() == 2);
  CHECK(all + "}\n" == support::without_reals(golden("history_lambda")));
}
