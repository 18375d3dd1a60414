// What callbacks hear, and in which order, against what MindSpore printed (golden/console).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "../support/shared.hpp"
#include "../train/small.hpp"

using namespace small;

namespace {
/// Notes what MindSpore's script prints of each event: hook, epoch, step, steps per epoch, epochs, mode.
struct Events {
  std::string lines;
  void on_train_begin(RunInfo& run) { note("on_train_begin", run); }
  void on_train_epoch_begin(RunInfo& run) { note("on_train_epoch_begin", run); }
  void on_train_step_begin(RunInfo& run) { note("on_train_step_begin", run); }
  void on_train_step_end(RunInfo& run) { note("on_train_step_end", run); }
  void on_train_epoch_end(RunInfo& run) { note("on_train_epoch_end", run); }
  void on_train_end(RunInfo& run) { note("on_train_end", run); }
  void on_eval_begin(RunInfo& run) { note("on_eval_begin", run); }
  void on_eval_epoch_begin(RunInfo& run) { note("on_eval_epoch_begin", run); }
  void on_eval_step_begin(RunInfo& run) { note("on_eval_step_begin", run); }
  void on_eval_step_end(RunInfo& run) { note("on_eval_step_end", run); }
  void on_eval_epoch_end(RunInfo& run) { note("on_eval_epoch_end", run); }
  void on_eval_end(RunInfo& run) { note("on_eval_end", run); }

 private:
  void note(const char* name, const RunInfo& run) {
    std::ostringstream line;
    line << name << ' ' << number(run.cur_epoch_num) << ' ' << run.cur_step_num << ' ' << run.batch_num << ' '
         << number(run.epoch_num) << ' ' << (run.training ? "train" : "eval") << '\n';
    lines += line.str();
  }
  static std::string number(long n) { return n ? std::to_string(n) : "None"; }
};
struct StopInStep3 {
  void on_train_step_end(RunInfo& run) {
    if (run.cur_step_num == 3) run.request_stop();
  }
};
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy>;

/// The first six words of each line: behind them stand the names of attributes.
std::string golden(const std::string& name) {
  std::ifstream file(support::shared_folder() + "/golden/console/" + name);
  std::string result;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 6 && words >> word; ++i) result += word + (i < 5 ? " " : "\n");
  }
  return result;
}
template <class F>
void compare(const std::string& name, F run) {
  if (!support::have_shared("golden/console")) return;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    set_context({.mode = mode});
    Net net;
    Trained model(net, {}, {.learning_rate = 0.1f, .momentum = 0.9f}, {});
    Events events;
    run(model, events);
    CHECK(events.lines == golden(name + (mode == Mode::graph ? ".graph" : ".pynative") + ".stdout.txt"));
  }
}
auto batches(long samples) { return small::samples(samples) | dataset::batch(2); }
}  // namespace

TEST_CASE("train and eval") {
  compare("event_order_train_eval", [](auto& model, auto& events) {
    model.train(2, batches(4), events);
    model.eval(batches(4), events);
  });
}
TEST_CASE("fit: the evaluation comes before the end of the epoch") {
  compare("event_order_fit", [](auto& model, auto& events) { model.fit(2, batches(4), batches(2), events); });
}
TEST_CASE("a stop in a step") {
  compare("event_order_stop", [](auto& model, auto& events) { model.train(5, batches(8), events, StopInStep3{}); });
}
