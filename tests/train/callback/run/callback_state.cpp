// What callbacks have counted goes with a training file: a run that is resumed behind any step ends as if it had never
// been interrupted.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callbacks.hpp>

#include "../../small.hpp"

using namespace small;
namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_states_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};
struct Crash {
  long step;
  void on_train_step_end(RunInfo& run) const {
    if (run.cur_step_num == step) throw std::runtime_error("crash");
  }
};
struct CrashBefore {
  long step;
  void on_train_step_begin(RunInfo& run) const {
    if (run.cur_step_num == step) throw std::runtime_error("crash");
  }
};
/// A callback of the user's that steers by what it has counted.
struct Slower {
  long count = 0;
  void on_train_begin(RunInfo&) { count = 0; }
  void on_train_step_end(auto& run) {
    if (++count % 5 == 0) run.model.optimizer().learning_rate = 0.9 * double(run.model.optimizer().learning_rate.at(0));
  }
  void state(CallbackState& state) { state(count); }
};
/// The same for lists, whose callbacks do not see the Model.
struct Counts {
  long count = 0;
  void on_train_begin(RunInfo&) { count = 0; }
  void on_train_step_end(RunInfo&) { ++count; }
  void state(CallbackState& state) { state(count); }
};
/// What a run leaves behind.
struct Outcome {
  std::string bits;
  std::vector<double> losses, accuracies;
  long stopped = 0, best = 0, seen = 0;
  bool operator==(const Outcome&) const = default;
};
/// Trains up to eight epochs of three steps, with `more` behind the other callbacks.
template <class... More>
Outcome fit(Net& net, const fs::path& folder, More... more) {
  Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.05}, nn::Accuracy{});
  if (const auto file = latest_checkpoint("run", folder.string())) load_training(*file, model);
  EarlyStopping stop{.monitor = "eval_loss", .min_delta = 0.05, .patience = 2, .restore_best_weights = true};
  ReduceLROnPlateau plateau{.factor = 0.5f, .patience = 1, .min_delta = 0.1, .cooldown = 1};
  History history;
  ExponentialMovingAverage average{.decay = 0.9};
  std::vector<AnyCallback> list{Counts{}, Counts{}};
  model.fit(8, samples(24) | dataset::shuffle(24) | dataset::batch(8), samples(40) | dataset::batch(40), Slower{}, stop,
            plateau, history, average, list, ModelCheckpoint("run", folder.string()), more...);
  return {bits(net),       history.history["net_output"], history.history["accuracy"], stop.stopped_epoch,
          stop.best_epoch, list[1].get<Counts>()->count};
}
}  // namespace

TEST_CASE("numbers, texts, and vectors of them, there and back") {
  double a = 0.5;
  bool b = true;
  std::string text = "best";
  std::vector<std::vector<float>> lists{{1, 2}, {}, {3}};
  const auto all = [](CallbackState& state, auto&... value) { (state(value), ...); };
  CallbackState saved;
  all(saved, a, b, text, lists);
  double a2 = 0;
  bool b2 = false;
  std::string text2;
  std::vector<std::vector<float>> lists2{{7}};
  CallbackState loaded(saved.bytes());
  all(loaded, a2, b2, text2, lists2);
  CHECK(a2 == a);
  CHECK(b2 == b);
  CHECK(text2 == text);
  CHECK(lists2 == lists);
}
TEST_CASE("bytes that end early, and sizes that only a header claims, are refused") {
  std::vector<double> values(3, 1.0);
  CallbackState saved;
  saved(values);
  for (std::size_t length = 0; length < saved.bytes().size(); ++length) {
    CallbackState cut(saved.bytes().substr(0, length));
    CHECK_THROWS_AS(cut(values), ValueError);
  }
  CallbackState huge(std::string(8, '\xff'));
  CHECK_THROWS_AS(huge(values), ValueError);
}
TEST_CASE("interrupted behind any step: the same weights, history, and end") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode, .seed = 2});
    const Outcome expected = [] {
      const Folder folder;
      Net net;
      return fit(net, folder.path);
    }();
    CHECK(expected.stopped > 3);
    CHECK(expected.best < expected.stopped);
    for (long step = 1; step <= 3 * expected.stopped; ++step) {
      CAPTURE(step);
      const Folder folder;
      {
        Net net;
        CHECK_THROWS_WITH(fit(net, folder.path, Crash{step}), "crash");
      }
      Net net;
      const Outcome found = fit(net, folder.path);
      CHECK(found.bits == expected.bits);
      CHECK(found.losses == expected.losses);
      CHECK(found.accuracies == expected.accuracies);
      CHECK(found.stopped == expected.stopped);
      CHECK(found.best == expected.best);
      CHECK(found.seen == expected.seen);
    }
  }
}
TEST_CASE("a run without the callback leaves its state alone, and parameters are loaded without it") {
  const Folder folder;
  set_context({.mode = Mode::graph, .seed = 2});
  Net net;
  CHECK_THROWS(fit(net, folder.path, CrashBefore{5}));
  const std::string file = *latest_checkpoint("run", folder.path.string());
  Net other;
  load_checkpoint(file, other);
  CHECK(bits(other) == bits(net));
  Net third;
  Model model(third, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.05});
  load_training(file, model);
  CHECK(bits(third) == bits(net));
  model.train(2, samples(24) | dataset::shuffle(24) | dataset::batch(8));
  CHECK(model.global_step() == 6);
}

namespace {
/// small::Net with its members in another order: a file has the same names for both.
struct Turned : nn::Cell<Turned> {
  nn::Dense<8, 2> fc2;
  nn::Dense<3, 8> fc1;
  constexpr auto construct(auto x) const { return fc2(ops::relu(fc1(x))); }
};
struct SaveLate {
  std::string path;
  void on_train_epoch_begin(auto& run) const {
    if (run.cur_epoch_num == 3) save_training(run.model, path);
  }
};
}  // namespace
TEST_CASE("weights that callbacks have kept of a network with other members are refused, not written over its end") {
  const Folder folder;
  const std::string path = (folder.path / "run.safetensors").string();
  const auto refused = [&](auto callback) {
    const auto train = [&](auto& net, auto hook, bool resumes) {
      Model model(net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.05}, nn::Accuracy{});
      if (resumes) load_training(path, model);
      auto own = callback;
      model.fit(3, ten(), ten(), own, hook);
    };
    Net net, again;
    Turned other;
    train(net, SaveLate{path}, false);
    train(again, Counts{}, true);
    CHECK(bits(again) == bits(net));
    CHECK_THROWS_AS(train(other, Counts{}, true), ValueError);
  };
  refused(ExponentialMovingAverage{.decay = 0.9});
  refused(StochasticWeightAverage{});
  refused(EarlyStopping{.patience = 9, .restore_best_weights = true});
}
