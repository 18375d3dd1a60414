// Where callbacks stand in a list changes nothing that is right: what a saved training contains, which weights
// evaluations judge and what is kept of them, what the network has in the end. property/callbacks_resumed.cpp has the
// same for all pairs.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <unistd.h>

#include <tenon/dataset/operations.hpp>
#include <tenon/train/callbacks.hpp>

#include "../small.hpp"
#include "output.hpp"

using namespace small;
namespace fs = std::filesystem;

namespace {
constexpr Mode modes[]{Mode::graph, Mode::pynative};
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy, nn::Loss>;
Trained make(Net& net) {
  return Trained(net, {}, nn::Momentum{.learning_rate = 0.3f, .momentum = 0.9f}, {}, nn::Loss{});
}
auto twelve() { return samples(12) | dataset::batch(4); }
auto valid() { return samples(40) | dataset::batch(40); }

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_order_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};
/// Throws in one hook.
LambdaCallback crash(LambdaCallback::Hook LambdaCallback::* hook) {
  LambdaCallback result;
  result.*hook = [](RunInfo&) { throw std::runtime_error("crash"); };
  return result;
}
std::string bits_of(const std::string& file) {
  Net net;
  load_checkpoint(file, net);
  return bits(net);
}
/// The weights after the steps of each epoch.
struct Watch {
  std::vector<std::string> weights{};
  void on_train_epoch_end(auto& run) { weights.push_back(bits(run.model.network())); }
};
}  // namespace

TEST_CASE("kept are the weights that were judged: averages, in any order") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 9});
    const Folder folder;
    std::string found[2];
    for (const bool average_first : {true, false}) {
      Net net;
      auto model = make(net);
      double best = std::numeric_limits<double>::infinity();
      LambdaCallback watch{
          .on_train_epoch_end = [&](RunInfo& run) { best = std::fmin(best, *run.eval_results->find("eval_loss")); }};
      ExponentialMovingAverage average{.decay = 0.9};
      SaveBest save{.path = folder / "best.safetensors"};
      EarlyStopping stop{.patience = 50, .restore_best_weights = true};
      if (average_first) model.fit(5, twelve(), valid(), average, save, stop, watch);
      else model.fit(5, twelve(), valid(), watch, stop, save, average);
      CHECK(model.eval(valid())["loss"] == best);
      CHECK(bits_of(folder / "best.safetensors") == bits(net));
      found[average_first] = bits(net);
    }
    CHECK(found[0] == found[1]);
  }
}
TEST_CASE("without an evaluation nobody judged averages: kept are the training's own weights") {
  const ContextScope scope({.seed = 9});
  const Folder folder;
  Net net;
  auto model = make(net);
  Watch watch;
  SaveBest save{.path = folder / "best.safetensors", .monitor = "loss"};
  model.train(3, twelve(), ExponentialMovingAverage{.decay = 0.9}, save, watch);
  CHECK(bits_of(folder / "best.safetensors") == watch.weights.at(std::size_t(save.best_epoch - 1)));
}
TEST_CASE("the same through a list that is chosen at run time, and of two averages the last one is the network's") {
  const ContextScope scope({.seed = 9});
  const Folder folder;
  std::string found[3];
  for (const int which : {0, 1, 2}) {
    Net net;
    auto model = make(net);
    using Any = AnyCallbackOf<Trained>;
    const Any slow = ExponentialMovingAverage{.decay = 0.9}, fast = ExponentialMovingAverage{.decay = 0.5};
    std::vector<Any> list{SaveBest{.path = folder / "best.safetensors", .monitor = "loss"}};
    if (which == 0) list.insert(list.end(), {slow, fast});
    if (which == 1) list.insert(list.end(), {fast});
    if (which == 2) list.insert(list.end(), {fast, slow});
    model.fit(4, twelve(), valid(), list);
    found[which] = bits(net) + bits_of(folder / "best.safetensors");
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] != found[2]);
}

TEST_CASE("whatever a hook of an evaluation throws, the network has its own weights again") {
  using L = LambdaCallback;
  for (const Mode mode : modes)
    for (const auto hook : {&L::on_eval_begin, &L::on_eval_epoch_begin, &L::on_eval_step_begin, &L::on_eval_step_end,
                            &L::on_eval_epoch_end, &L::on_eval_end, &L::on_train_epoch_end}) {
      const ContextScope scope({.mode = mode, .seed = 9});
      Net alone;
      auto plain = make(alone);
      plain.train(1, twelve());
      for (const bool front : {true, false}) {
        Net net;
        auto model = make(net);
        ExponentialMovingAverage average{.decay = 0.5};
        if (front) CHECK_THROWS_WITH(model.fit(2, twelve(), valid(), crash(hook), average), "crash");
        else CHECK_THROWS_WITH(model.fit(2, twelve(), valid(), average, crash(hook)), "crash");
        CHECK(bits(net) == bits(alone));
      }
    }
}
TEST_CASE("a saved training has its own weights, whichever hook saves it") {
  using L = LambdaCallback;
  const ContextScope scope({.seed = 9});
  for (const auto hook : {&L::on_eval_begin, &L::on_eval_end, &L::on_train_epoch_end, &L::on_train_end}) {
    const Folder folder;
    Net net;
    auto model = make(net);
    Watch watch;
    LambdaCallback save;
    save.*hook = [&](RunInfo&) { save_training(model, folder / "training.safetensors"); };
    model.fit(3, twelve(), valid(), ExponentialMovingAverage{.decay = 0.5}, save, watch,
              EarlyStopping{.patience = 9, .restore_best_weights = true});
    CHECK(bits(net) != watch.weights.back());
    CHECK(bits_of(folder / "training.safetensors") == watch.weights.back());
  }
}
TEST_CASE(
    "the network has the best weights in the end, not the last averages, in any order; hooks of the end see them") {
  const ContextScope scope({.seed = 9});
  std::vector<std::string> found;
  for (const int which : {0, 1, 2}) {
    Net net;
    auto model = make(net);
    EarlyStopping stop{.monitor = "loss", .patience = 9, .mode = MonitorMode::max, .restore_best_weights = true};
    StochasticWeightAverage average{};
    std::string seen;
    LambdaCallback look{.on_train_end = [&](RunInfo&) { seen = bits(net); }};
    if (which == 0) model.fit(4, twelve(), valid(), look, stop, average);
    if (which == 1) model.fit(4, twelve(), valid(), average, stop, look);
    if (which == 2) model.fit(4, twelve(), valid(), average, look, stop);
    CHECK(seen == bits(net));
    CHECK(stop.best_epoch < 4);
    found.push_back(bits(net));
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

TEST_CASE("one SaveBest in two fits keeps the better file; another path, monitor, or object begins anew") {
  const ContextScope scope({.seed = 9});
  const Folder folder;
  Net net;
  auto model = make(net);
  SaveBest save{.path = folder / "best.safetensors"};
  model.fit(6, twelve(), valid(), save);
  const std::string good = bits_of(save.path);
  const double best = save.watched.best();
  Net worse;
  auto other = make(worse);
  other.fit(1, twelve(), valid(), save);
  CHECK(bits_of(save.path) == good);
  CHECK(save.watched.best() == best);
  save.path = folder / "other.safetensors";
  Net third;
  auto again = make(third);
  again.fit(1, twelve(), valid(), save);
  CHECK(bits_of(save.path) == bits(third));
  again.fit(1, twelve(), valid(), SaveBest{.path = folder / "best.safetensors"});
  CHECK(bits_of(folder / "best.safetensors") == bits(third));
}

namespace {
/// Epochs of 2, 6, 2, 6, ... steps.
auto unequal() {
  return samples(12) |
         dataset::batch(6, [](const dataset::BatchInfo& info) { return info.epoch_num % 2 == 0 ? 6 : 2; });
}
}  // namespace
TEST_CASE("one ModelCheckpoint in two runs: none writes over the other's files; resumed in the process it goes on") {
  const ContextScope scope({.seed = 9});
  const Folder folder;
  Net net;
  auto model = make(net);
  ModelCheckpoint checkpoint("m", folder.path.string(), {.save_checkpoint_steps = 3, .keep_checkpoint_max = 2});
  model.train(2, twelve(), checkpoint);
  const std::string first = bits(net);
  model.train(2, twelve(), checkpoint);
  CHECK(bits_of(folder / "m-2_3.safetensors") == first);
  CHECK(bits_of(folder / "m_1-2_3.safetensors") == bits(net));
  CHECK(checkpoint.latest_ckpt_file_name() == folder / "m_1-2_3.safetensors");
  // three crashes in one process, each behind the save of the same step
  Net other;
  auto again = make(other);
  ModelCheckpoint kept("r", folder.path.string(), {.save_checkpoint_steps = 3, .keep_checkpoint_max = 2});
  LambdaCallback stop{.on_train_step_begin = [](RunInfo& run) {
    if (run.cur_step_num == 5) throw std::runtime_error("crash");
  }};
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH(again.train(2, twelve(), kept, stop), "crash");
    load_training(*latest_checkpoint("r", folder.path.string()), again);
  }
  again.train(2, twelve(), kept);
  CHECK(bits(other) == first);
  CHECK(fs::exists(kept.latest_ckpt_file_name()));
}

TEST_CASE("epochs of unequal length: a step counts within its own epoch, names do not collide, the newest file stays") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 9});
    const Folder folder;
    Net net;
    auto model = make(net);
    std::vector<long> steps;
    ModelCheckpoint checkpoint("v", folder.path.string(), {.keep_checkpoint_max = 3});
    LambdaCallback note{.on_train_step_end = [&](RunInfo& run) { steps.push_back(run.step_in_epoch()); }};
    model.train(3, unequal(), checkpoint, note);
    CHECK(steps == std::vector<long>{1, 2, 1, 2, 3, 4, 5, 6, 1, 2});
    CHECK(fs::path(checkpoint.latest_ckpt_file_name()).filename() == "v-3_2.safetensors");
    for (const char* name : {"v-2_6.safetensors", "v-3_1.safetensors", "v-3_2.safetensors"})
      CHECK(fs::exists(folder.path / name));
    // resumed within the longer epoch, the count goes on
    Net half;
    auto first = make(half);
    ModelCheckpoint until("w", folder.path.string());
    LambdaCallback stop{.on_train_step_begin = [](RunInfo& run) {
      if (run.cur_step_num == 6) throw std::runtime_error("crash");
    }};
    CHECK_THROWS_WITH(first.train(3, unequal(), until, stop), "crash");
    Net resumed;
    auto second = make(resumed);
    load_training(*latest_checkpoint("w", folder.path.string()), second);
    CHECK(second.global_step() == 5);
    steps.clear();
    second.train(3, unequal(), note);
    CHECK(steps == std::vector<long>{4, 5, 6, 1, 2});
    CHECK(bits(resumed) == bits(net));
  }
}

namespace {
/// The rates of each step, of all groups, and before and after the update.
struct Rates {
  std::vector<std::vector<float>> seen{};
  void on_train_step_end(auto& run) { seen.push_back(run.learning_rates()); }
};
struct RateNote {
  std::vector<float> before{}, after{};
  void on_train_step_begin(auto& run) { before.push_back(run.learning_rate()); }
  void on_train_step_end(auto& run) { after.push_back(run.learning_rate()); }
};
nn::Momentum grouped(std::optional<nn::LearningRate> own = nn::LearningRate(0.2)) {
  return {.learning_rate = 0.4f, .momentum = 0.9f, .groups = {{.params = {"*.bias"}, .learning_rate = own}}};
}
}  // namespace
TEST_CASE("rates of groups: callbacks change each, a saved training has them, a list or function is refused") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 9});
    const Folder folder;
    Net net;
    Trained model(net, {}, grouped(), {}, nn::Loss{});
    Rates rates;
    const std::string output = printed([&] {
      model.train(1, twelve(), LearningRateScheduler([](float rate, long step) { return step == 2 ? rate / 2 : rate; }),
                  rates);
    });
    CHECK(output == "At step 2, learning_rate change to 0.2\nAt step 2, learning_rate of group 0 change to 0.1\n");
    CHECK(rates.seen == std::vector<std::vector<float>>{{0.4f, 0.2f}, {0.4f, 0.2f}, {0.2f, 0.1f}});
    model.fit(2, twelve(), valid(), ReduceLROnPlateau{.factor = 0.5f, .patience = 1, .min_delta = 100});
    CHECK(model.optimizer().learning_rate.at(0) == 0.1f);
    CHECK(model.optimizer().groups[0].learning_rate->at(0) == 0.05f);
    save_training(model, folder / "training.safetensors");
    Net other;
    Trained again(other, {}, grouped(), {}, nn::Loss{});
    load_training(folder / "training.safetensors", again);
    CHECK(again.optimizer().groups[0].learning_rate->at(0) == 0.05f);
    Net third;
    Trained two(third, {}, grouped(std::nullopt), {}, nn::Loss{});
    CHECK_THROWS_AS(load_training(folder / "training.safetensors", two), ValueError);
    model.optimizer().groups[0].learning_rate = [](long) { return 0.1f; };
    CHECK_THROWS_WITH_AS(model.fit(1, twelve(), valid(), ReduceLROnPlateau{}),
                         "ReduceLROnPlateau: the learning rate of group 0 is a list or a function of the step; give it "
                         "one number, which a callback can change.",
                         ValueError);
    CHECK_THROWS_AS(model.train(1, twelve(), LearningRateScheduler([](float rate, long) { return rate; })), ValueError);
  }
}
TEST_CASE("run.learning_rate() is that of the step's update, before it and after it, in any order") {
  const ContextScope scope({.seed = 9});
  auto halve = LearningRateScheduler([](float rate, long) { return rate / 2; });
  for (const bool front : {true, false}) {
    Net net;
    auto model = make(net);
    RateNote note;
    printed([&] {
      if (front) model.train(1, twelve(), halve, note);
      else model.train(1, twelve(), note, halve);
    });
    CHECK(note.before == std::vector<float>{0.3f, 0.15f, 0.075f});
    CHECK(note.after == note.before);
  }
  Net net;
  Trained scheduled(net, {}, nn::Momentum{.learning_rate = {0.3, 0.2, 0.1}, .momentum = 0.9f}, {}, nn::Loss{});
  RateNote note;
  scheduled.train(1, twelve(), note);
  CHECK(note.before == std::vector<float>{0.3f, 0.2f, 0.1f});
  CHECK(note.after == note.before);
}

namespace {
/// Makes the loss of a step NaN.
struct Spoils {
  long step;
  void on_train_step_begin(auto& run) {
    if (run.cur_step_num == step) run.model.network().fc1.bias.values()[0] = std::numeric_limits<float>::quiet_NaN();
  }
};
}  // namespace
TEST_CASE("a loss of NaN: hooks of the end are told, the sentence says which weights remain, nothing spoilt is saved") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode, .seed = 9});
    const Folder folder;
    const auto sentence = [&](auto&... callbacks) {
      Net net;
      auto model = make(net);
      try {
        model.fit(4, twelve(), valid(), callbacks..., Spoils{.step = 8});
      } catch (const ValueError& error) {
        bool finite = true;
        for (const io::NamedTensor& one : named_parameters(net))
          for (const float value : one.tensor.as<float>()) finite = finite && std::isfinite(value);
        return std::string(error.what()) + (finite ? " [finite]" : " [NaN]");
      }
      return std::string("nothing thrown");
    };
    const std::string begin = "Model.train: the loss is NaN at epoch 3, step 2 (global step 8). Lower the learning "
                              "rate, or look for bad input. The network has ";
    const std::string advice = " The optimizer's state has this update: train on with a new Model.";
    long ended = 0;
    LambdaCallback end{.on_train_end = [&](RunInfo& run) { ended += run.diverged; }};
    CHECK(sentence(end) == begin + "the weights after the last update." + advice + " [NaN]");
    CHECK(ended == 1);
    EarlyStopping stop{.patience = 9, .restore_best_weights = true};
    const std::string restored = sentence(stop, end);
    CHECK(restored == begin + text("the best weights that EarlyStopping has seen, of epoch ", stop.best_epoch, ".",
                                   advice, " [finite]"));
    ExponentialMovingAverage average{.decay = 0.5};
    CHECK(sentence(average) == begin + "the averages of ExponentialMovingAverage." + advice + " [finite]");
    CHECK(sentence(stop, average).find("EarlyStopping has seen") != std::string::npos);
    CHECK(sentence(average, stop).find("EarlyStopping has seen") != std::string::npos);
    for (const bool background : {false, true}) {
      ModelCheckpoint checkpoint(background ? "b" : "f", folder.path.string(),
                                 {.save_checkpoint_steps = 3, .async_save = background});
      const std::string file = folder / (background ? "b-2_3.safetensors" : "f-2_3.safetensors");
      CHECK(sentence(checkpoint) == begin + text("the weights after the last update. '", file,
                                                 "' has the training before it.", advice, " [NaN]"));
      CHECK(checkpoint.latest_ckpt_file_name() == file);
    }
    LambdaCallback throws = crash(&LambdaCallback::on_train_end);
    CHECK(sentence(throws).find("A hook of the end threw, too: crash") != std::string::npos);
  }
}

TEST_CASE("a run that early stopping ended stays ended when its last file is resumed, unless it may be more patient") {
  const ContextScope scope({.seed = 9});
  const Folder folder;
  Net net;
  auto model = make(net);
  EarlyStopping stop{.monitor = "loss", .mode = MonitorMode::max};
  History history;
  model.fit(9, twelve(), valid(), ModelCheckpoint("e", folder.path.string(), {.save_checkpoint_steps = 100}), stop,
            history);
  REQUIRE(stop.stopped_epoch > 0);
  REQUIRE(stop.stopped_epoch < 9);
  const std::string file = *latest_checkpoint("e", folder.path.string());
  for (const long patience : {0L, 9L}) {
    Net resumed;
    auto more = make(resumed);
    load_training(file, more);
    EarlyStopping again{.monitor = "loss", .patience = patience, .mode = MonitorMode::max};
    History rest;
    more.fit(9, twelve(), valid(), again, rest);
    CHECK((bits(resumed) == bits(net)) == (patience == 0));
    CHECK((rest.epoch == history.epoch) == (patience == 0));
    if (patience == 0) CHECK(again.stopped_epoch == stop.stopped_epoch);
  }
}
