// Lesson 4: training from arrays, with a data pipeline, callbacks, metrics, and a custom callback.
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

struct Classifier : nn::Cell<Classifier> {
  nn::Dense<2, 16> hidden;
  nn::Dense<16, 2> output;

  constexpr auto construct(auto x) const { return output(tanh(hidden(x))); }
};

// A callback is any class with one of the hooks begin, epoch_begin, step_begin, step_end, epoch_end, end.
struct StopBelow {
  double limit;
  void epoch_end(RunInfo& run) const {
    if (run.loss() < limit) run.request_stop();
  }
};

int main() {
  // Points inside or outside of a circle.
  std::vector<float> points;
  std::vector<std::int32_t> labels;
  Random random(42);
  for (int i = 0; i < 2000; ++i) {
    const float x = random.uniform(-1, 1), y = random.uniform(-1, 1);
    points.insert(points.end(), {x, y});
    labels.push_back(x * x + y * y < 0.5f);
  }
  const auto samples = dataset::from_arrays(dataset::column<Shape<2>>(points), dataset::column<Shape<>>(labels));
  const auto train = samples | dataset::shuffle(2000) | dataset::batch(50);

  Classifier net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, nn::Accuracy{}};
  model.train(30, train, LossMonitor{200}, StopBelow{0.02});
  std::printf("accuracy %.3f after %ld steps\n", model.eval(train)["accuracy"], model.global_step());
}
