// Callbacks of a few lines: History, LambdaCallback, LearningRateScheduler, StopAtLoss, StopAtTime, and LossMonitor
// under fit().
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <functional>
#include <utility>

#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/early_stopping.hpp>
#include <tenon/train/callback/history.hpp>
#include <tenon/train/callback/lambda_callback.hpp>
#include <tenon/train/callback/learning_rate_scheduler.hpp>
#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/stop_at_loss.hpp>
#include <tenon/train/callback/stop_at_time.hpp>

#include "../small.hpp"
#include "output.hpp"

using namespace small;

namespace {
using Judged = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy>;
nn::Momentum fast() { return {.learning_rate = 0.5f, .momentum = 0.9f}; }
auto forty() { return samples(40) | dataset::batch(8); }
}  // namespace

TEST_CASE("history and lambda: epochs, losses, metrics") {
  Net net;
  Judged model(net, {}, fast(), {});
  History history;
  std::vector<double> losses, accuracies;
  long evaluations = 0;
  model.fit(3, forty(), forty(), history,
            LambdaCallback{.on_train_epoch_end =
                               [&](RunInfo& run) {
                                 losses.push_back(run.loss());
                                 accuracies.push_back((*run.eval_results)["accuracy"]);
                               },
                           .on_eval_end = [&](RunInfo& run) { evaluations += run.metrics != nullptr; }});
  CHECK(history.epoch == std::vector<long>{1, 2, 3});
  CHECK(history.history["net_output"] == losses);
  CHECK(history.history["accuracy"] == accuracies);
  CHECK(history.history.size() == 2);
  CHECK(evaluations == 3);
  model.train(1, forty(), history);
  CHECK(history.epoch == std::vector<long>{1});
  CHECK(history.history.size() == 1);
}

TEST_CASE("lambda: a hook without a function does nothing") {
  Net net;
  Judged model(net, {}, fast(), {});
  long epochs = 0;
  std::function<void(RunInfo&)> none, count = [&](RunInfo&) { ++epochs; };
  void (*const pointer)(RunInfo&) = nullptr;
  LambdaCallback quiet{.on_train_begin = none,
                       .on_train_step_end = nullptr,
                       .on_train_epoch_end = count,
                       .on_train_end = pointer,
                       .on_eval_begin = std::move(none),
                       .on_eval_end = {}};
  model.fit(2, forty(), forty(), quiet);
  CHECK(epochs == 2);
  quiet.on_train_epoch_end = nullptr;
  model.fit(2, forty(), forty(), quiet);
  CHECK(epochs == 2);
}

TEST_CASE("fit: how often it evaluates, and what plain hooks hear of it") {
  Net net;
  Judged model(net, {}, fast(), {});
  std::vector<long> evaluated;
  LambdaCallback note{.on_eval_begin = [&](RunInfo& run) { evaluated.push_back(run.cur_epoch_num); }};
  model.fit(5, ten(), ten(), {.valid_frequency = 2}, note);
  CHECK(evaluated == std::vector<long>{2, 4});
  evaluated.clear();
  model.fit(5, ten(), ten(), {.valid_frequency = {1, 5, 9}}, note);
  CHECK(evaluated == std::vector<long>{1, 5});
  CHECK_THROWS_AS(model.fit(1, ten(), ten(), {.valid_frequency = 0}), ValueError);
  CHECK_THROWS_AS(model.fit(0, ten(), ten()), ValueError);
  Recorder plain, alone;
  std::vector<AnyCallback> list{Recorder{}};
  model.fit(1, ten(), ten(), plain, list);
  model.train(1, ten(), alone);
  CHECK(plain.events == alone.events);
  CHECK(list[0].get<Recorder>()->events == alone.events);
}

namespace {
struct Sees {
  const Net* network = nullptr;
  float rate = 0;
  bool loss = false;
  void on_train_begin(auto& run) {
    network = &run.network();
    rate = run.optimizer().learning_rate.at(0);
    loss = std::is_same_v<decltype(run.loss_fn()), const nn::SoftmaxCrossEntropyWithLogits<>&>;
    CHECK(run.parallel_mode == "stand_alone");
    CHECK(run.device_number == 1);
  }
};
}  // namespace
TEST_CASE("a list of callbacks that see the Model, and its parts under MindSpore's names") {
  set_context({.mode = Mode::graph, .seed = 5});
  Net net;
  Judged model(net, {}, fast(), {});
  std::vector<AnyCallbackOf<decltype(model)>> list;
  list.push_back(Sees{});
  list.push_back(EarlyStopping{.monitor = "accuracy", .patience = 1, .restore_best_weights = true});
  model.fit(3, ten(), ten(), list);
  CHECK(list[0].get<Sees>()->network == &net);
  CHECK(list[0].get<Sees>()->rate == fast().learning_rate.at(0));
  CHECK(list[0].get<Sees>()->loss);
  CHECK(list[1].get<EarlyStopping>()->best_epoch > 0);
}

TEST_CASE("what is better: known of MindSpore's metrics, also behind val_, and asked of others") {
  const auto begin = [](const char* name) {
    detail::Monitor monitor;
    monitor.begin("SaveBest", name, MonitorMode::automatic, 0, RunInfo{});
    return monitor.better(1, 2);
  };
  for (const char* less : {"loss", "eval_loss", "val_mae", "mse", "root_mean_square_distance"}) CHECK(begin(less));
  for (const char* more : {"accuracy", "val_accuracy", "balanced_accuracy", "F1", "top_5_accuracy"})
    CHECK_FALSE(begin(more));
  CHECK_THROWS_WITH_AS(begin("doubt"),
                       "SaveBest: whether less or more 'doubt' is better cannot be told by its name: add .mode = "
                       "MonitorMode::min or MonitorMode::max.",
                       ValueError);
}

TEST_CASE("fit trains the same bits as train with an evaluation between") {
  std::string weights[2];
  for (int way = 0; way < 2; ++way) {
    set_context({.mode = Mode::graph, .seed = 5});
    Net net;
    Judged model(net, {}, fast(), {});
    if (way == 0) model.fit(2, forty(), ten());
    else model.train(1, forty()), model.eval(ten()), model.train(1, forty());
    weights[way] = bits(net);
  }
  CHECK(weights[0] == weights[1]);
}

TEST_CASE("run info: the batch of the step, and values of the callbacks' own") {
  Net net;
  Judged model(net, {}, fast(), {});
  LambdaCallback look{.on_train_begin =
                          [](RunInfo& run) {
                            CHECK(run.dataset_element().empty());
                            run["begun"] = 1.5;
                          },
                      .on_train_step_end =
                          [](RunInfo& run) {
                            const std::vector<AnyTensor> columns = run.original_args().dataset_element();
                            REQUIRE(columns.size() == 2);
                            CHECK(columns[0].shape().size() == 2);
                            CHECK(columns[1].dtype == Dtype::int32);
                            CHECK_FALSE(run.get_stop_requested());
                          },
                      .on_train_end =
                          [](RunInfo& run) {
                            REQUIRE(run.find<double>("begun"));
                            CHECK(*run.find<double>("begun") == 1.5);
                            CHECK(run.find<int>("begun") == nullptr);
                            CHECK(run.find<double>("other") == nullptr);
                          }};
  model.train(2, ten(), look);
}

TEST_CASE("learning rate scheduler") {
  Net net;
  Judged model(net, {}, fast(), {});
  LearningRateScheduler halve([](float rate, long step) { return step % 2 == 0 ? rate / 2 : rate; });
  CHECK(printed([&] { model.train(1, forty(), halve); }) ==
        "At step 2, learning_rate change to 0.25\nAt step 4, learning_rate change to 0.125\n");
  CHECK(model.optimizer().learning_rate.at(0) == 0.125f);
  model.optimizer().learning_rate = {0.1, 0.1, 0.1};
  const long steps = model.global_step();
  CHECK_THROWS_AS(model.train(1, forty(), halve), ValueError);
  CHECK(model.global_step() == steps);  // before the first step
}

TEST_CASE("stop at a loss, stop at a time") {
  Net net;
  Judged model(net, {}, fast(), {});
  StopAtLoss low{.loss = 0.4};
  model.train(200, forty(), low);
  CHECK(low.stopped_step > 0);
  CHECK(model.global_step() == low.stopped_step);
  StopAtTime soon{.seconds = 1e-9};
  const long before = model.global_step();
  model.train(200, forty(), soon);
  CHECK(model.global_step() == before + 1);
  CHECK_THROWS_AS(model.train(1, forty(), StopAtTime{}), ValueError);
}

TEST_CASE("loss monitor: the result of an evaluation by fit") {
  Net net;
  Judged model(net, {}, fast(), {});
  const std::string output = printed([&] { model.fit(1, ten(), ten(), LossMonitor(100)); });
  CHECK(output.starts_with("Eval result: epoch 1, metrics: {'accuracy': "));
  CHECK(output.ends_with("}\n"));
  CHECK(output.find("eval_loss") == std::string::npos);
}
