// The founding documents' callbacks in C++: early stops, the lowest loss, hooks, what they know of a run, a time limit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/stop_at_loss.hpp>

#include "../support/console.hpp"
#include "../train/callback/output.hpp"
#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;

namespace {
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }

/// Documents 000 and 001.
struct EarlyStop {
  double control_loss = 1;

  void step_end(RunInfo& run_context) {
    const RunInfo& cb_params = run_context.original_args();
    const AnyTensor loss = cb_params.net_outputs[0];
    if (loss.as<float>()[0] < control_loss) run_context.stop_requested = true;
  }
};

/// Document 001: where the sample says "do save ckpt".
struct SaveLowest {
  std::optional<double> loss{};
  long step = 0;

  void step_end(auto& run_context) {
    const double current = run_context.loss();
    if (loss && current >= *loss) return;
    loss = current;
    step = run_context.cur_step_num;
    save_checkpoint(run_context.model.network(), "lowest.safetensors");
  }
};

/// Document 002: ends a training within a time, in minutes there.
struct StopAtTime {
  std::chrono::duration<double> run_time;
  using Clock = std::chrono::steady_clock;

  void begin(RunInfo& run_context) {
    RunInfo& cb_params = run_context.original_args();
    cb_params["init_time"] = Clock::now();
  }
  void step_end(RunInfo& run_context) {
    RunInfo& cb_params = run_context.original_args();
    const long epoch_num = cb_params.cur_epoch_num, step_num = cb_params.cur_step_num;
    const auto loss = cb_params.net_outputs[0].as<float>()[0];
    if (Clock::now() - *cb_params.find<Clock::time_point>("init_time") > run_time) {
      std::printf("epoch: %ld step: %ld loss: %.9g\n", epoch_num, step_num, double(loss));
      run_context.request_stop();
    }
  }
};

struct Losses {
  std::vector<double> of;
  void step_end(RunInfo& run) { of.push_back(run.loss()); }
};
struct Until {
  long step;
  void step_end(RunInfo& run) const {
    if (run.cur_step_num == step) run.request_stop();
  }
};
/// Document 002: what `cb_params` has. The learning rate falls to 0 behind step 5.
struct Look {
  const Net& net;
  long steps = 0, batches = 0;
  void take_data(const auto& train_dataset) { batches = train_dataset.size(); }
  void step_end(auto& run_context) {
    const auto& cb_params = run_context.original_args();
    ++steps;
    CHECK(cb_params.epoch_num == 2);
    CHECK(cb_params.batch_num == 4);
    CHECK(cb_params.cur_step_num == steps);
    CHECK(cb_params.cur_epoch_num == (steps - 1) / 4 + 1);
    CHECK(cb_params.net_outputs.size() == 1);
    CHECK(cb_params.dataset_element().size() == 2);
    CHECK(&run_context.model.network() == &net);
    static_assert(std::is_same_v<decltype(run_context.loss_fn()), const nn::SoftmaxCrossEntropyWithLogits<>&>);
    CHECK(batches == 4);
    nn::Momentum& optimizer = run_context.model.optimizer();
    if (steps == 5) optimizer.learning_rate = 0;
  }
};
}  // namespace

TEST_CASE("early stop: a training ends with the first loss below a number") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    Net net, other;
    Trained model(net, {}, momentum());
    Losses losses;
    EarlyStop stop_cb{.control_loss = 0.5};
    model.train(100, four_steps(), losses, stop_cb);
    REQUIRE(losses.of.size() > 1);
    REQUIRE(losses.of.size() < 400);
    CHECK(losses.of.back() < 0.5);
    for (std::size_t i = 0; i + 1 < losses.of.size(); ++i) CHECK(losses.of[i] >= 0.5);

    Trained ready_made(other, {}, momentum());
    ready_made.train(100, four_steps(), StopAtLoss{.loss = 0.5});
    CHECK(ready_made.global_step() == long(losses.of.size()));
  }
}

TEST_CASE("the parameters of the lowest loss are saved") {
  const ContextScope scope({.seed = 1});
  Net net, saved, again;
  SaveLowest lowest;
  Losses losses;
  Trained(net, {}, momentum()).train(3, four_steps(), lowest, losses);
  REQUIRE(losses.of.size() == 12);
  long best = 0;
  for (long i = 0; i < 12; ++i)
    if (losses.of[std::size_t(i)] < losses.of[std::size_t(best)]) best = i;
  CHECK(lowest.step == best + 1);
  CHECK(*lowest.loss == losses.of[std::size_t(best)]);

  load_checkpoint("lowest.safetensors", saved);
  Trained(again, {}, momentum()).train(3, four_steps(), Until{lowest.step});
  CHECK(small::bits(saved) == small::bits(again));
}

TEST_CASE("a list of callbacks: checkpoints, and losses in MindSpore's lines") {
  std::filesystem::remove_all("list");
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Net net;
    Trained model(net, {}, momentum());
    ModelCheckpoint ckpt_cb("CKP", "list");
    LossMonitor loss_cb;
    const std::string lines = printed([&] { model.train(2, four_steps(), ckpt_cb, loss_cb); });
    CHECK(ckpt_cb.latest_ckpt_file_name().ends_with("-2_4.safetensors"));
    CHECK(std::filesystem::exists(ckpt_cb.latest_ckpt_file_name()));
    const std::string some = printed([&] { model.train(2, four_steps(), LossMonitor(3)); });
    if (!support::have_shared("golden/console")) continue;
    CHECK(support::without_reals(lines) ==
          support::without_reals(support::console("loss_monitor_1." + get_context("mode"), "stdout")));
    CHECK(support::without_reals(some) ==
          support::without_reals(support::console("loss_monitor_n.pynative", "stdout")));
  }
}

TEST_CASE("a loss that is NaN or infinite ends a training, with its place") {
  const auto refused = [](float x) {
    const std::vector<float> bad(12, x);
    const std::vector<std::int32_t> labels(4, 0);
    const auto data = dataset::from_arrays(dataset::column<Shape<3>>(bad), dataset::column<Shape<>>(labels));
    Net net;
    Trained model(net, {}, momentum());
    std::string error;
    CHECK(printed([&] {
            try {
              model.train(1, data | dataset::batch(2), LossMonitor());
            } catch (const ValueError& e) {
              error = e.what();
            }
          }).empty());
    return error;
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const std::string error = refused(std::numeric_limits<float>::quiet_NaN());
    CHECK(error.find("the loss is NaN at epoch 1, step 1") != std::string::npos);
    CHECK_FALSE(refused(std::numeric_limits<float>::infinity()).empty());
    if (!support::have_shared("golden/console")) continue;
    const std::string there = support::console("nan_loss." + get_context("mode"), "stderr");
    CHECK(there.find("In epoch: 1 step: 1, loss is NAN or INF") != std::string::npos);
  }
}

TEST_CASE("callbacks run in their order, and one may use what another has left") {
  struct First {
    void step_end(RunInfo& run) { run["seen"] = run.cur_step_num; }
  };
  struct Second {
    long right = 0;
    void step_end(RunInfo& run) {
      if (const long* seen = run.find<long>("seen")) right += *seen == run.cur_step_num;
    }
  };
  Net net;
  Trained model(net, {}, momentum());
  Second behind, before;
  model.train(2, four_steps(), First{}, behind);
  CHECK(behind.right == 8);
  model.train(2, four_steps(), before, First{});
  CHECK(before.right == 0);
}

TEST_CASE("the six hooks of a callback: once, around each epoch, around each step") {
  struct Said {
    std::string words;
    void begin(RunInfo&) { words += "begin"; }
    void epoch_begin(RunInfo&) { words += " (epoch_begin"; }
    void step_begin(RunInfo&) { words += " <"; }
    void step_end(RunInfo&) { words += ">"; }
    void epoch_end(RunInfo&) { words += " epoch_end)"; }
    void end(RunInfo&) { words += " end"; }
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Net net;
    Trained model(net, {}, momentum());
    Said said;
    model.train(2, samples(6) | dataset::batch(3), said);
    CHECK(said.words == "begin (epoch_begin <> <> epoch_end) (epoch_begin <> <> epoch_end) end");
  }
}

TEST_CASE("what a callback knows of a run, and how it changes the learning rate") {
  struct Weights {
    const Net& net;
    std::vector<std::string> after;
    void step_end(RunInfo&) { after.push_back(small::bits(net)); }
  };
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Net net;
    Trained model(net, {}, momentum());
    Look look{net};
    Weights weights{net, {}};
    model.train(2, four_steps(), look, weights);
    REQUIRE(weights.after.size() == 8);
    for (std::size_t i = 1; i < 8; ++i) CHECK((weights.after[i] == weights.after[i - 1]) == (i > 4));
  }
}

TEST_CASE("stop at time: a training ends behind its time, with one line") {
  using namespace std::chrono_literals;
  struct Nap {
    long steps = 0;
    void step_begin(RunInfo&) { ++steps, std::this_thread::sleep_for(1ms); }
  };
  Net net;
  Trained model(net, {}, momentum());
  Nap nap;
  Losses losses;
  const auto begun = std::chrono::steady_clock::now();
  const std::string output =
      printed([&] { model.train(10000, four_steps(), nap, losses, StopAtTime{.run_time = 20ms}); });
  CHECK(std::chrono::steady_clock::now() - begun > 20ms);
  CHECK(nap.steps < 40000);
  std::smatch parts;
  REQUIRE(std::regex_match(output, parts, std::regex(R"(epoch: (\d+) step: (\d+) loss: (\d\.\d+(e-\d+)?)\n)")));
  CHECK(std::stol(parts[1]) == (nap.steps - 1) / 4 + 1);
  CHECK(std::stol(parts[2]) == nap.steps);
  CHECK(std::stof(parts[3]) == float(losses.of.back()));
}
