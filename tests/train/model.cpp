// Model: events, both modes, evaluation inside of training, refusals, prediction.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/train/callback/any_callback.hpp>

#include "small.hpp"

using namespace small;

namespace {
auto momentum() { return nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}; }
using Trained = Model<Net, nn::SoftmaxCrossEntropyWithLogits<>, nn::Momentum, ModelOptions{}, nn::Accuracy, nn::Loss>;
constexpr Mode modes[]{Mode::graph, Mode::pynative};

/// Checks the counts and outputs of two epochs of three steps.
struct Watch {
  long steps = 0;
  void begin(RunInfo& run) {
    CHECK((run.training && run.epoch_num == 2 && run.batch_num == 3 && run.cur_step_num == 0 &&
           run.step_in_epoch() == 0));
  }
  void step_end(auto& run) {
    ++steps;
    CHECK((run.cur_step_num == steps && run.step_in_epoch() == (steps - 1) % 3 + 1 &&
           run.cur_epoch_num == (steps - 1) / 3 + 1));
    CHECK((run.net_outputs.size() == 1 && run.net_outputs[0].rank == 0 && run.loss() > 0 && run.loss() < 3));
    CHECK(run.step_seconds > 0);
    CHECK(run.model.global_step() == steps);
  }
  void epoch_end(RunInfo& run) { CHECK(run.epoch_seconds >= run.step_seconds); }
};
/// Evaluates after each step of a training, and looks whether the training notices.
struct EvaluateInside {
  std::vector<double> accuracy;
  bool inside = false;
  void step_end(auto& run) {
    if (!inside) return;
    const double loss = run.loss();
    const EvalResult result = run.model.eval(samples(20) | dataset::batch(7));
    accuracy.push_back(result["accuracy"]);
    CHECK(run.net_outputs.size() == 1);
    CHECK(run.loss() == loss);  // the outputs of the training are still there
    CHECK(result["loss"] != loss);
  }
};
struct TrainAgain {
  void step_end(auto& run) { run.model.train(1, ten()); }
};
struct EvalAgain {
  void step_end(auto& run) { run.model.eval(ten()); }
};
}  // namespace

TEST_CASE("model: events of two epochs come in MindSpore's order") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Trained model(net, {}, momentum(), {}, {});
    Recorder recorder;
    model.train(2, ten(), recorder);
    CHECK(recorder.events ==
          "begin epoch_begin1 step_begin1 step_end1 step_begin2 step_end2 step_begin3 step_end3 epoch_end1 "
          "epoch_begin2 step_begin4 step_end4 step_begin5 step_end5 step_begin6 step_end6 epoch_end2 end");
    CHECK(model.global_step() == 6);
  }
}

TEST_CASE(
    "model: a stop at a step still gives epoch_end and end; a stop in front of the steps takes effect after one") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  const auto events = [&](int step, const char* event) {
    Recorder recorder{.events = "", .stop_in_step = step, .stop_in = event};
    model.train(3, ten(), recorder);
    return recorder.events;
  };
  CHECK(events(2, "") == "begin epoch_begin1 step_begin1 step_end1 step_begin2 step_end2 epoch_end1 end");
  CHECK(events(5, "") == "begin epoch_begin1 step_begin1 step_end1 step_begin2 step_end2 step_begin3 step_end3 "
                         "epoch_end1 epoch_begin2 step_begin4 step_end4 step_begin5 step_end5 epoch_end2 end");
  CHECK(events(3, "") ==
        "begin epoch_begin1 step_begin1 step_end1 step_begin2 step_end2 step_begin3 step_end3 epoch_end1 end");
  CHECK(events(0, "begin") == "begin epoch_begin1 step_begin1 step_end1 epoch_end1 end");
  CHECK(events(0, "epoch_begin") == "begin epoch_begin1 step_begin1 step_end1 epoch_end1 end");
  CHECK(events(0, "step_begin") == "begin epoch_begin1 step_begin1 step_end1 epoch_end1 end");
  CHECK(events(0, "epoch_end") ==
        "begin epoch_begin1 step_begin1 step_end1 step_begin2 step_end2 step_begin3 step_end3 epoch_end1 end");
}

TEST_CASE("model: a callback sees where the run is") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  Watch watch;
  model.train(2, ten(), watch);
  CHECK(watch.steps == 6);
}

TEST_CASE("model: the modes, with one and two threads, give equal bits, and the loss falls") {
  std::string first;
  for (const Mode mode : modes)
    for (const int threads : {1, 2}) {
      const ContextScope scope({.mode = mode, .num_threads = threads});
      Net net;
      Trained model(net, {}, momentum(), {}, {});
      CHECK(model.mode() == mode);
      const auto data = samples(50) | dataset::shuffle(50) | dataset::batch(8);
      const double before = model.eval(data)["loss"];
      model.train(20, data);
      const EvalResult after = model.eval(data);
      CHECK(after["loss"] < before / 3);
      CHECK(after["accuracy"] > 0.9);
      if (first.empty()) first = bits(net);
      CHECK(bits(net) == first);
    }
}

TEST_CASE("model: the mode is that of the context at construction") {
  const ContextScope scope({.mode = Mode::pynative});
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  set_context({.mode = Mode::graph});
  CHECK(model.mode() == Mode::pynative);
  Model only_graph{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  CHECK(only_graph.mode() == Mode::graph);
}

TEST_CASE("model: an evaluation inside of a training changes nothing of it") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net alone, disturbed;
    Trained first(alone, {}, momentum(), {}, {}), second(disturbed, {}, momentum(), {}, {});
    EvaluateInside none, evaluate{.accuracy = {}, .inside = true};
    first.train(2, ten(), none);
    second.train(2, ten(), evaluate);
    CHECK(evaluate.accuracy.size() == 6);
    CHECK(bits(alone) == bits(disturbed));
  }
}

namespace {
/// Adds 1 where it trains, so that the mode of a step shows in the loss.
struct Shy : nn::Cell<Shy> {
  nn::Dense<3, 1> fc;
  constexpr auto construct(auto x, auto y) const {
    auto loss = ops::reduce_mean(ops::mul(fc(x), fc(x)));
    if constexpr (is_broken<decltype(loss)>) return loss;
    else return is_training(x) ? ops::add(loss, ops::reduce_mean(ops::mul(y, y))) : loss;
  }
};
auto pairs() {
  return dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(24, 0.5f)),
                              dataset::column<Shape<1>>(std::vector<float>(8, 1.0f))) |
         dataset::batch(3);
}
struct EvaluateShy {
  std::vector<double> training, evaluation;
  void step_end(auto& run) {
    training.push_back(run.loss());
    evaluation.push_back(run.model.eval(pairs())["loss"]);
  }
};
}  // namespace

TEST_CASE("model: steps train after an evaluation in between, which does not") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Shy net;
    Model model{net, NoLoss{}, nn::Momentum{.learning_rate = 0.0f, .momentum = 0.0f}, nn::Loss{}};
    EvaluateShy evaluate;
    model.train(1, pairs(), evaluate);
    REQUIRE(evaluate.training.size() == 3);
    for (int i = 0; i < 3; ++i)
      CHECK(evaluate.training[std::size_t(i)] == doctest::Approx(evaluate.evaluation[std::size_t(i)] + 1));
  }
}

TEST_CASE("model: an evaluation has its own events, and the metrics at its end") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  Recorder recorder;
  struct Results {
    double accuracy = -1;
    void step_end(RunInfo& run) {
      CHECK((!run.training && run.net_outputs.size() == 2 && run.net_outputs[1].extent[1] == 2));
    }
    void end(RunInfo& run) { accuracy = (*run.metrics)["accuracy"]; }
  } results;
  const EvalResult result = model.eval(ten(), recorder, results);
  CHECK(recorder.events == "begin step_begin1 step_end1 step_begin2 step_end2 step_begin3 step_end3 end");
  CHECK(results.accuracy == result["accuracy"]);
  CHECK(model.metric<nn::Accuracy>().eval() == result["accuracy"]);
}

TEST_CASE("model: metrics are cleared, and asked for by a known name") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  const EvalResult once = model.eval(ten()), again = model.eval(ten());
  CHECK(once["accuracy"] == again["accuracy"]);
  CHECK(once["loss"] == again["loss"]);
  CHECK(std::distance(once.begin(), once.end()) == 2);
  CHECK_THROWS_WITH_AS(once["acuracy"],
                       "There is no metric 'acuracy', the model has 'accuracy', 'loss'. Did you mean 'accuracy'?",
                       KeyError);
}

TEST_CASE("model: runs that cannot be are refused, and leave the model usable") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  CHECK_THROWS_WITH_AS(model.train(0, ten()), "Model.train: epoch must be 1 or more, got 0.", ValueError);
  CHECK_THROWS_AS(model.train(-1, ten()), ValueError);
  net.requires_grad(false);
  CHECK_THROWS_WITH_AS(model.fit(1, ten(), ten()),
                       "Model.fit: the optimizer got an empty parameter list: requires_grad(false) has frozen every "
                       "parameter. Call requires_grad(true) of what is to train.",
                       ValueError);
  net.requires_grad(true);
  TrainAgain again;
  CHECK_THROWS_WITH_AS(model.train(1, ten(), again),
                       "Model.train was called by a callback of Model.train of the same Model: run it before or after.",
                       RuntimeError);
  EvalAgain eval_again;
  CHECK_THROWS_AS(model.eval(ten(), eval_again), RuntimeError);
  Recorder recorder;
  struct Throw {
    void step_end(RunInfo&) { throw RuntimeError("enough"); }
  } thrower;
  CHECK_THROWS_WITH(model.train(1, ten(), recorder, thrower), "enough");
  CHECK(recorder.events == "begin epoch_begin1 step_begin1 step_end1");  // and no end
  CHECK_NOTHROW(model.train(1, ten()));
}

TEST_CASE("model: dataset_sink_mode is accepted and changes no event") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  Recorder with, without;
  model.train(1, ten(), {.dataset_sink_mode = true}, with);
  model.train(1, ten(), without);
  Recorder before, behind;
  const TrainOptions sink{.dataset_sink_mode = true};
  model.train(1, ten(), before, sink, behind);
  model.train(1, ten(), TrainOptions{}, sink);
  CHECK((before.events == with.events && behind.events == with.events));
  CHECK(with.events == without.events);
  CHECK(model.eval(ten(), {.dataset_sink_mode = true})["loss"] == model.eval(ten())["loss"]);
  CHECK(model.eval(ten(), with, sink)["loss"] == model.eval(ten())["loss"]);
}

TEST_CASE("model: trains on data sets of several batch shapes, and the step counts on") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Trained model(net, {}, momentum(), {}, {});
    model.train(1, ten());
    model.train(1, samples(10) | dataset::batch<5>());
    model.train(1, samples(9) | dataset::batch(9) | dataset::prefetch(2));
    CHECK(model.global_step() == 6);
  }
}

TEST_CASE("model: a shuffled data set goes on with new orders in the next train()") {
  const auto data = samples(50) | dataset::shuffle(50) | dataset::batch(8);
  Net once, twice;
  Trained one(once, {}, momentum(), {}, {}), two(twice, {}, momentum(), {}, {});
  one.train(2, data);
  two.train(1, data);
  two.train(1, data);
  CHECK(bits(once) == bits(twice));
}

TEST_CASE("model: a loss that is not finite stops the training with its place") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    std::vector<float> x(30, 0.5f);
    // in sample 5, which is in step 2; infinite logits give a loss of NaN
    x[16] = std::numeric_limits<float>::infinity();
    const auto data =
        dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(std::vector<std::int32_t>(10, 1))) |
        dataset::batch(4);
    Net net;
    Trained model(net, {}, momentum(), {}, {});
    CHECK_THROWS_WITH_AS(model.train(3, data),
                         "Model.train: the loss is NaN at epoch 1, step 2 (global step 2). Lower the learning rate, or "
                         "look for bad input. The network has the weights after the last update. The "
                         "optimizer's state has this update: train on with a new Model.",
                         ValueError);
  }
}

TEST_CASE("model: predict gives the network's output, also into memory of the caller") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net};
    auto x = Tensor<float, Shape<dyn, 3>>::full(0.25f, 5);
    const auto y = model.predict(x);
    CHECK(y.n() == 5);
    for (int i = 0; i < 2; ++i) {
      double sum = net.fc2.bias.values()[std::size_t(i)];
      for (int h = 0; h < 8; ++h) {
        double hidden = net.fc1.bias.values()[std::size_t(h)];
        for (int k = 0; k < 3; ++k) hidden += 0.25 * net.fc1.weight.values()[std::size_t(3 * h + k)];
        sum += std::fmax(hidden, 0) * net.fc2.weight.values()[std::size_t(8 * i + h)];
      }
      CHECK(y.values()[std::size_t(8 + i)] == doctest::Approx(sum).epsilon(1e-5));
    }
    auto mine = Tensor<float, Shape<dyn, 2>>::full(0, 5);
    const float* before = mine.data();
    model.predict_into(mine, x);
    CHECK(mine.data() == before);
    CHECK(std::memcmp(mine.data(), y.data(), 40) == 0);
    auto wrong = Tensor<float, Shape<dyn, 2>>::full(0, 4);
    CHECK_THROWS_WITH_AS(
        model.predict_into(wrong, x),
        "Model.predict_into: a result has the shape [4, 2], the inputs' batch size is 5: make it with empty(n).",
        ValueError);
    CHECK_THROWS_AS(model.predict(Tensor<float, Shape<dyn, 3>>{}), ValueError);
  }
}

TEST_CASE("model: a list of callbacks chosen at run time runs in its order") {
  Net net;
  Trained model(net, {}, momentum(), {}, {});
  std::string order;
  struct Tag {
    std::string* order;
    char name;
    void step_end(RunInfo&) { *order += name; }
  };
  std::vector<AnyCallback> list{Tag{&order, 'a'}, Tag{&order, 'b'}};
  model.train(1, ten(), Tag{&order, '-'}, list, Tag{&order, '+'});
  CHECK(order == "-ab+-ab+-ab+");
}
