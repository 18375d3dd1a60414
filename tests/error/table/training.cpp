// A right program. training.txt says how it goes wrong.
#include <memory>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 16> hidden;
  nn::Dense<16, 10> output;
  constexpr auto construct(auto x) const { return output(relu(hidden(flatten(x)))); }
};

struct Watch {
  void step_end(RunInfo& run) const {
    if (run.loss() < 0.01) run.request_stop();
  }
};

int main() {
  set_context({.seed = 1});
  Net net;
  nn::SoftmaxCrossEntropyWithLogits loss;
  nn::Momentum optimizer{.learning_rate = 0.01f, .momentum = 0.9f};
  Model model{net, loss, optimizer, nn::Accuracy{}};
  const auto data = dataset::Digits{} | dataset::shuffle(100) | dataset::batch(32);
  Watch watch;
  model.train(2, data, LossMonitor{10}, watch);
  const auto result = model.eval(data);
  std::printf("%g\n", result["accuracy"]);
  const auto x = Tensor<float, Shape<dyn, 28, 28>>::full(0.5f, 2);
  const auto y = model.predict(x);
  save_checkpoint(net, "net.safetensors");
  load_checkpoint("net.safetensors", net);
  std::printf("%ld\n", y.count());
}
