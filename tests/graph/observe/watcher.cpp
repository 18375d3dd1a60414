// flags: -DTENON_OBSERVE
// Watchers: every step of a program, of each kind, in both modes, and what they observe of it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<3, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
const auto data = [] {
  return dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>{1, 2, 3, 4, 5, 6}),
                              dataset::column<Shape<2>>(std::vector<float>{1, 0, 0, 1})) |
         dataset::batch(1);
};

/// Writes down what it is told, and observes the steps that it is asked to.
struct Diary {
  std::vector<std::string> lines;
  long operations = 0;
  bool observes = true;
  const Program* program = nullptr;

  bool begin_step(const NetworkStep& step) {
    lines.push_back(text(step.network, " ", name(step.kind), " ", step.number, " of ", step.n));
    program = step.program;
    return observes;
  }
  void end_step(const NetworkStep& step) { lines.push_back(text("end ", name(step.kind))); }
  void before(const Operation&) {}
  void after(const Operation&) { ++operations; }
};
}  // namespace

TEST_CASE("steps of training, evaluation, prediction, and calls, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope context({.mode = mode});
    Net net;
    Model model{net, nn::MSELoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}, nn::Loss{}};
    const auto x = Tensor<float, Shape<dyn, 3>>::full(1, 4);
    Diary diary;
    {
      const Watching scope(diary);
      model.train(1, data());
      model.eval(data());
      model.predict(x);
      model.predict(x);
      net(x);
    }
    model.predict(x);
    CHECK(diary.lines == std::vector<std::string>{"Net train 0 of 1", "end train", "Net train 1 of 1", "end train",
                                                  "Net eval 0 of 1", "end eval", "Net eval 1 of 1", "end eval",
                                                  "Net predict 0 of 4", "end predict", "Net predict 1 of 4",
                                                  "end predict",
                                                  text("Net call ", mode == Mode::graph ? 0 : 1, " of 4"), "end call"});
    CHECK(diary.operations > 7);
  }
}

TEST_CASE("a step of one's own by jit is one of training, with the program that it runs") {
  Net net;
  OptimizerStep optimizer(net, nn::SGD{.learning_rate = 0.1f});
  const auto step = jit(
      [](const auto& network, auto& update, const auto& x, const auto& y) {
        const auto [loss, gradients] = value_and_grad([&] { return nn::MSELoss{}(network(x), y); }, network)();
        update(gradients);
        return loss;
      },
      net, optimizer);
  Diary diary;
  const Watching scope(diary);
  step(Tensor<float, Shape<dyn, 3>>::full(1, 4), Tensor<float, Shape<dyn, 2>>::full(1, 4));
  CHECK(diary.lines == std::vector<std::string>{"Net train 0 of 4", "end train"});
  REQUIRE(diary.program);
  CHECK(diary.program->instructions > 0);
}

TEST_CASE("who does not want to observe a step hears of it alone; an observer of a scope is not disturbed") {
  Net net;
  Model model{net};
  const auto x = Tensor<float, Shape<dyn, 3>>::full(1, 4);
  Diary diary, other;
  diary.observes = false;
  const Watching watching(diary);
  const Observing observing(other);
  model.predict(x);
  CHECK(diary.operations == 0);
  CHECK(diary.lines.size() == 2);
  CHECK(other.operations > 0);
  const long before = other.operations;
  diary.observes = true;
  model.predict(x);
  CHECK(diary.operations == before);
  CHECK(other.operations == 2 * before);
}

namespace {
struct Refuses {
  bool ended = false;
  bool begin_step(const NetworkStep&) { throw_error<RuntimeError>("not today"); }
  void end_step(const NetworkStep&) { ended = true; }
};
/// Predicts with a Model while it is told of a step.
template <class M, class X>
struct Predicts {
  const M& model;
  const X& x;
  long steps = 0;
  bool begin_step(const NetworkStep&) {
    ++steps;
    model.predict(x);
    return false;
  }
  void end_step(const NetworkStep&) {}
};
}  // namespace

TEST_CASE("what a watcher throws ends the step, and others hear of its end; what it runs is no step of the program") {
  Net net;
  Model model{net};
  const auto x = Tensor<float, Shape<dyn, 3>>::full(1, 4);
  Diary diary;
  {
    const Watching first(diary);
    Refuses refuses;
    const Watching second(refuses);
    CHECK_THROWS_WITH_AS(model.predict(x), "not today", RuntimeError);
    CHECK(!refuses.ended);
  }
  CHECK(diary.lines.size() == 2);
  Predicts<decltype(model), decltype(x)> predicts{model, x};
  const Watching scope(predicts);
  model.predict(x);
  CHECK(predicts.steps == 1);
}
