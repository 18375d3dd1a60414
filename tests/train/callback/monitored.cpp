// What watches a number from epoch to epoch: EarlyStopping, ReduceLROnPlateau, SaveBest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include <tenon/nn/metric/naming/named.hpp>
#include <tenon/train/callback/early_stopping.hpp>
#include <tenon/train/callback/reduce_lr_on_plateau.hpp>
#include <tenon/train/callback/save_best.hpp>

#include "../small.hpp"
#include "output.hpp"

using namespace small;

namespace {
/// A run of an optimizer without a network, whose evaluations have the results that a test wants.
struct Played : RunInfo {
  struct {
    nn::Momentum rates{.learning_rate = 0.1f, .momentum = 0.9f};
    nn::Momentum& optimizer() { return rates; }
  } model;
};
/// Epochs with these values of `name`, as fit() gives them; how many it took until a callback stopped it.
template <class C>
long play_values(C& callback, Played& run, const char* name, const std::vector<double>& values) {
  run.in_fit = true;
  detail::tell<detail::Begin>(callback, run);
  for (const double value : values) {
    EvalResult result;
    result.add(name, value);
    run.eval_results = &result;
    ++run.cur_epoch_num;
    detail::tell<detail::EpochEnd>(callback, run);
    if (run.stop_requested) break;
  }
  detail::tell<detail::End>(callback, run);
  return run.cur_epoch_num;
}
long epochs(EarlyStopping stop, const char* name, const std::vector<double>& values) {
  Played run;
  return play_values(stop, run, name, values);
}
/// Rises to the third epoch and falls then.
struct Score {
  static constexpr std::string_view name = "score";
  long epoch = 0;
  void clear() { ++epoch; }
  void update(const AnyTensor&, const AnyTensor&) {}
  double eval() const { return epoch < 4 ? double(epoch) : -double(epoch); }
};
struct Keep {
  std::vector<std::string>& weights;
  void on_train_epoch_end(auto& run) { weights.push_back(bits(run.model.network())); }
};
using Judged = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy>;
std::string message_of(auto f) {
  try {
    f();
  } catch (const ValueError& e) {
    return e.what();
  }
  return {};
}
}  // namespace

TEST_CASE("early stopping: patience, which way is better, a margin, a baseline") {
  const std::vector<double> falling{5, 4, 3, 2, 1, 0};
  CHECK(epochs({}, "eval_loss", falling) == 6);
  CHECK(epochs({.monitor = "accuracy"}, "accuracy", falling) == 2);  // larger is better
  CHECK(epochs({.monitor = "accuracy", .mode = MonitorMode::min}, "accuracy", falling) == 6);
  CHECK(epochs({.patience = 2}, "eval_loss", {3, 2, 4, 2, 1}) == 4);
  CHECK(epochs({.patience = 3}, "eval_loss", {3, 2, 4, 2, 1, 1, 1}) == 7);                   // 1 is better in the fifth
  CHECK(epochs({.min_delta = 0.5, .patience = 2}, "eval_loss", {1.1, 0.9, 0.8, 0.7}) == 3);  // MindSpore's golden
  CHECK(epochs({.patience = 2, .baseline = 1.0}, "eval_loss", {5, 4, 3, 0.5, 0.4}) == 2);
  CHECK(epochs({.patience = 1}, "eval_loss", {1, 0, 0}) == 3);  // 0 is a value
  CHECK(epochs({.patience = 1}, "eval_loss", {1, NAN, 0.5}) == 2);
}
TEST_CASE("early stopping: what it refuses, and a number that is not there") {
  Played run;
  CHECK_THROWS_AS(play_values(*std::make_unique<EarlyStopping>(EarlyStopping{.patience = -1}), run, "x", {}),
                  ValueError);
  CHECK_THROWS_AS(play_values(*std::make_unique<EarlyStopping>(EarlyStopping{.min_delta = NAN}), run, "x", {}),
                  ValueError);
  CHECK(epochs({.monitor = "acuracy", .mode = MonitorMode::max}, "accuracy", {1, 1, 1}) == 3);
}
TEST_CASE("a number that the run does not have is an error before the first step, with the nearest name") {
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits<>{}, nn::Momentum{.learning_rate = 0.3f, .momentum = 0.9f},
              nn::Named{"hits", nn::Accuracy{}}, Score{});
  CHECK(
      message_of([&] { model.fit(2, ten(), ten(), EarlyStopping{.monitor = "hit"}); }) ==
      "EarlyStopping: there is no 'hit' to monitor: the evaluations of fit give 'hits', 'score', 'eval_loss'. Did you "
      "mean 'hits'?");
  CHECK(message_of([&] { model.fit(2, ten(), ten(), ReduceLROnPlateau{.monitor = "accuracy"}); }) ==
        "ReduceLROnPlateau: there is no 'accuracy' to monitor: the evaluations of fit give 'hits', 'score', "
        "'eval_loss'.");
  CHECK(message_of([&] { model.train(2, ten(), SaveBest{}); }) ==
        "SaveBest: there is no 'eval_loss' to monitor: train evaluates nothing; use model.fit(epochs, data, valid, "
        "...), or monitor \"loss\".");
  CHECK(model.global_step() == 0);
  CHECK(
      message_of([&] { model.fit(2, ten(), ten(), EarlyStopping{.monitor = "score"}); }) ==
      "EarlyStopping: whether less or more 'score' is better cannot be told by its name: add .mode = MonitorMode::min "
      "or MonitorMode::max.");
  EarlyStopping by_class{.monitor = "hits", .patience = 9};  // larger is better, as of every accuracy
  model.fit(1, ten(), ten(), by_class);
  CHECK(by_class.best_epoch == 1);
  CHECK(by_class.watched.better(0.75, 0.5));
  EarlyStopping by_end{.monitor = "sine_mae"};
  CHECK(epochs(by_end, "sine_mae", {3, 2, 1, 1}) == 4);
}
TEST_CASE("two metrics of one name are an error before the first step of fit") {
  Net net;
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
              nn::Accuracy{}, nn::Named{"accuracy", nn::Loss{}});
  CHECK(message_of([&] { model.fit(1, ten(), ten()); }) ==
        "Two metrics of the model have the name 'accuracy': give each its own name.");
  Model other(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
              nn::Named{"eval_loss", nn::Loss{}});
  CHECK(message_of([&] { other.fit(1, ten(), ten()); }) ==
        "Two metrics of the model have the name 'eval_loss': give each its own name.");
  CHECK(model.global_step() + other.global_step() == 0);
}

TEST_CASE("early stopping: the best weights come back, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    Net net;
    std::vector<std::string> weights;
    Keep keep{weights};
    Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, Score> scored(
        net, {}, {.learning_rate = 0.3f, .momentum = 0.9f}, {});
    EarlyStopping stop{
        .monitor = "score", .patience = 2, .verbose = true, .mode = MonitorMode::max, .restore_best_weights = true};
    const std::string output = printed([&] { scored.fit(9, ten(), ten(), stop, keep); });
    CHECK(output == "Epoch 00005: early stopping\n");
    CHECK(stop.best_epoch == 3);
    REQUIRE(weights.size() == 5);
    CHECK(bits(net) == weights[2]);
    CHECK(bits(net) != weights[4]);
  }
}

TEST_CASE("reduce on plateau: the rate falls in float32, rests, and has a floor") {
  Played run;
  ReduceLROnPlateau reduce{.patience = 2, .verbose = true, .min_delta = 0.5, .min_lr = 0.001f};
  const std::string output =
      printed([&] { play_values(reduce, run, "eval_loss", {1.1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7}); });
  CHECK(output == "Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.010000001.\n"
                  "Epoch 00005: ReduceLROnPlateau reducing learning rate to 0.001.\n");
  CHECK(run.model.optimizer().learning_rate.at(0) == 0.001f);
  // MindSpore 2.10's rates: the last epoch of the cooldown counts
  const auto rate = [](long patience, long cooldown, long epochs) {
    Played resting;
    ReduceLROnPlateau slow{.factor = 0.5f, .patience = patience, .cooldown = cooldown};
    play_values(slow, resting, "eval_loss", std::vector<double>(std::size_t(epochs), 1.0));
    return resting.model.optimizer().learning_rate.at(0);
  };
  CHECK(rate(1, 2, 3) == 0.05f);  // falls in 2, rests in 3, falls in 4, rests in 5, falls in 6
  CHECK(rate(1, 2, 4) == 0.025f);
  CHECK(rate(1, 2, 6) == 0.0125f);
  for (const long cooldown : {0L, 1L}) CHECK(rate(1, cooldown, 4) == 0.0125f);  // falls in 2, 3, 4
  CHECK(rate(2, 3, 6) == 0.05f);  // falls in 3, rests in 4 and 5, falls in 7
  CHECK(rate(2, 3, 7) == 0.025f);
}
TEST_CASE("reduce on plateau: what it refuses") {
  const auto refused = [](ReduceLROnPlateau reduce, nn::LearningRate rate = 0.1) {
    Played run;
    run.model.optimizer().learning_rate = rate;
    CHECK_THROWS_AS(play_values(reduce, run, "eval_loss", {1}), ValueError);
  };
  refused({.factor = 1});
  refused({.factor = NAN});
  refused({.patience = -1});
  refused({}, {0.1, 0.2});
  refused({}, [](long) { return 0.1; });
}

TEST_CASE("save best: the file holds the best epoch's parameters") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "tenon_save_best.safetensors";
  std::filesystem::remove(path);
  Net net;
  Judged model(net, {}, {.learning_rate = 0.3f, .momentum = 0.9f}, {});
  SaveBest best{.path = path.string(), .monitor = "accuracy"};
  EvalResult last;
  model.fit(6, samples(40) | dataset::batch(8), samples(40) | dataset::batch(8), best);
  REQUIRE(best.best_epoch > 0);
  Net loaded;
  load_checkpoint(path.string(), loaded);
  Judged other(loaded, {}, {.learning_rate = 0.3f, .momentum = 0.9f}, {});
  CHECK(other.eval(samples(40) | dataset::batch(8))["accuracy"] == best.watched.best());
  std::filesystem::remove(path);
  const long trained = model.global_step();  // a further run without that number is an error, too
  CHECK(message_of([&] { model.train(1, ten(), best); }).starts_with("SaveBest: there is no 'accuracy' to monitor"));
  CHECK(model.global_step() == trained);
  SaveBest wrong{.path = "best.txt"};
  CHECK_THROWS_AS(model.fit(1, ten(), ten(), wrong), ValueError);
  const long steps = model.global_step();  // a path where no file can be is an error before the first step
  SaveBest nowhere{.path = path.string() + ".no folder/best.safetensors", .monitor = "accuracy"};
  CHECK_THROWS_WITH_AS(model.fit(1, ten(), ten(), nowhere), doctest::Contains("The directory must exist"),
                       RuntimeError);
  CHECK(model.global_step() == steps);
}
