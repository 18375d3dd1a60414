// Callbacks: what counts as one, early stop, AnyCallback.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <time.h>

#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/loss_monitor.hpp>

#include "../small.hpp"

using namespace small;

namespace {
/// The seed's early stop: ends the training when the loss is below a bound.
struct EarlyStop {
  double control_loss;
  long stopped_at = 0;
  void step_end(RunInfo& run) {
    if (run.loss() >= control_loss) return;
    stopped_at = run.cur_step_num;
    run.request_stop();
  }
};
/// The seed's other one: keeps the step of the lowest loss.
struct Lowest {
  double loss = 1e30;
  long step = 0;
  void step_end(RunInfo& run) {
    if (run.loss() >= loss) return;
    loss = run.loss();
    step = run.cur_step_num;
  }
};

struct Nothing {};
struct WrongHook {
  void begin(RunInfo&) {}
  void step_end(RunInfo&, int) {}
};
struct TemplateHook {
  template <class R>
  void step_end(R&) {}
};
struct Misspelt {
  void begin(RunInfo&) {}
  void step_ended(RunInfo&) {}
};
struct Swapped {
  void begin(RunInfo&) {}
  void step_edn(auto&) {}
};
/// Names close to a hook's that are no slips: a time, and a method that takes no run.
struct Times {
  double step_start = 0;
  void epoch_start() {}
  void step_end(RunInfo&) {}
};
struct Train2 {
  void end(RunInfo&) {}
  void on_train_step_end(RunInfo&) {}
};
struct WrongTrain2 {
  void end(RunInfo&) {}
  void on_train_step_end() {}
};
struct Keras {
  void end(RunInfo&) {}
  void on_batch_end(RunInfo&) {}
};
struct WrongResumed {
  void end(RunInfo&) {}
  void on_train_resumed() {}
};
struct Resumed {
  void end(RunInfo&) {}
  void on_train_resumed(RunInfo&) {}
};
class Private {
  void step_end(RunInfo&) {}

 public:
  void begin(RunInfo&) {}
};
struct Const {
  void step_end(RunInfo&) {}
};
struct Final final {
  void epoch_end(RunInfo&) {}
};
struct Inherited : TemplateHook {};

template <class C>
constexpr bool accepted() {
  return detail::wrong_callback<C, RunInfo>().empty();
}
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}>;
nn::Momentum fast() { return {.learning_rate = 0.5f, .momentum = 0.9f}; }
}  // namespace

TEST_CASE("callback: hooks are found by their names, and must be callable") {
  CHECK(accepted<LossMonitor>());
  CHECK(accepted<TemplateHook>());
  CHECK(accepted<Inherited>());
  CHECK(accepted<Final>());
  CHECK(accepted<AnyCallback>());
  CHECK(accepted<std::vector<AnyCallback>>());
  CHECK(accepted<std::vector<LossMonitor>>());
  CHECK_FALSE(accepted<Nothing>());
  CHECK_FALSE(accepted<int>());
  CHECK_FALSE(accepted<WrongHook>());
  CHECK_FALSE(accepted<Misspelt>());
  CHECK_FALSE(accepted<Swapped>());
  CHECK(accepted<Times>());
  CHECK(accepted<Train2>());
  CHECK_FALSE(accepted<WrongTrain2>());
  CHECK_FALSE(accepted<Keras>());
  CHECK_FALSE(accepted<WrongResumed>());
  CHECK(accepted<Resumed>());
  CHECK_FALSE(accepted<Private>());
  CHECK(accepted<Const>());
  CHECK_FALSE(accepted<const Const>());
  CHECK_FALSE(accepted<std::vector<int>>());
}

TEST_CASE("callback: an early stop of the user ends the training") {
  Net net;
  Trained model(net, {}, fast());
  EarlyStop stop{.control_loss = 0.4};
  Lowest lowest;
  model.train(200, samples(40) | dataset::batch(8), stop, lowest);
  CHECK(stop.stopped_at > 0);
  CHECK(model.global_step() == stop.stopped_at);
  CHECK(lowest.step == stop.stopped_at);
  CHECK(lowest.loss < 0.4);
}

TEST_CASE("any callback: forwards every event, is copied by reference, and gives back what it holds") {
  Net net;
  Trained model(net, {}, fast());
  Recorder direct;
  AnyCallback any = Recorder{};
  const AnyCallback copy = any;
  std::vector<AnyCallback> list{copy, EarlyStop{.control_loss = 0}, LossMonitor{0}};
  model.train(2, ten(), direct, list);
  REQUIRE(any.get<Recorder>());
  CHECK(any.get<Recorder>()->events == direct.events);
  CHECK(any.get<LossMonitor>() == nullptr);
  REQUIRE(list[1].get<EarlyStop>());
  CHECK(list[1].get<EarlyStop>()->stopped_at == 0);
  std::vector<AnyCallback> none;
  CHECK_NOTHROW(model.train(1, ten(), none));
}

TEST_CASE("run info: how long the batch of a step was waited for, in every program") {
  struct Waits {
    std::vector<double> seconds{};
    void step_end(RunInfo& run) { seconds.push_back(run.data_seconds); }
  };
  Net net;
  Trained model(net, {}, fast());
  Waits waits;
  const auto slow = dataset::map<0>([](float x) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    ::nanosleep(&pause, nullptr);
    return x;
  });
  model.train(1, samples(8) | slow | dataset::batch(4), waits);
  REQUIRE(waits.seconds.size() == 2);
  for (const double seconds : waits.seconds) CHECK(seconds >= 4 * 3 * 0.002);
}

TEST_CASE("run info: the loss is the mean of the first output") {
  RunInfo run;
  CHECK(run.loss() == 0);
  CHECK(run.step_in_epoch() == 0);
  std::vector<float> losses{1, 2, 6};
  std::vector<double> second{9};
  const std::int64_t three[]{3}, one[]{1};
  const AnyTensor outputs[]{AnyTensor(Dtype::float32, three, losses.data()),
                            AnyTensor(Dtype::float64, one, second.data())};
  run.net_outputs = outputs;
  CHECK(run.loss() == 3);
  run.steps_before = 8;
  run.cur_step_num = 9;
  CHECK(run.step_in_epoch() == 1);
}
