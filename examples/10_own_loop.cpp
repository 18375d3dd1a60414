// Lesson 10: a custom training loop, without a Model: gradients, an optimizer step, and the whole step as a graph.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

struct Curve : nn::Cell<Curve> {
  nn::Dense<1, 32> hidden1;
  nn::Dense<32, 32> hidden2;
  nn::Dense<32, 1> output;

  constexpr auto construct(auto x) const { return output(tanh(hidden2(tanh(hidden1(x))))); }
};

// y = sin(3x) with some noise
static auto samples(long count, std::uint64_t seed) {
  std::vector<float> x, y;
  Random random(seed);
  for (long i = 0; i < count; ++i) {
    x.push_back(random.uniform(-2, 2));
    y.push_back(std::sin(3 * x.back()) + random.uniform(-0.1f, 0.1f));
  }
  return dataset::from_arrays(dataset::column<Shape<1>>(x), dataset::column<Shape<1>>(y));
}

// One step: it is called with the network, its optimizer, and a batch. It may return anything.
constexpr auto step = [](const auto& net, auto& optimizer, const auto& x, const auto& y) {
  const auto [loss, gradients] = value_and_grad([&] { return reduce_mean(square(net(x) - y)); }, net)();
  optimizer(gradients);
  return std::tuple(loss, reduce_max(abs(gradients(net.output.weight))));
};

int main() {
  set_context({.seed = 1});
  const auto train = samples(2000, 1) | dataset::shuffle(2000) | dataset::batch(50);
  const auto valid = samples(500, 2) | dataset::batch(100);

  Curve net;
  OptimizerStep optimizer(net, nn::Adam{.learning_rate = 0.01});

  // `step(net, optimizer, x, y)` would run it operator by operator, for example in a debugger; jit makes one graph.
  const auto fast = jit(step, net, optimizer);

  for (long epoch = 0; epoch < 20; ++epoch) {
    if (epoch == 15) optimizer.optimizer().learning_rate = 0.001;
    if (epoch == 18) net.hidden1.requires_grad(false);  // frozen from now on
    double sum = 0, largest = 0;
    for (const auto& [x, y] : dataset::rows(train, std::uint64_t(epoch))) {
      const auto [loss, gradient] = fast(x, y);
      sum += double(loss.item());
      largest = std::fmax(largest, double(gradient.item()));
    }
    if (epoch % 5 == 4)
      std::printf("epoch %2ld  loss %.4f  largest gradient %.3f\n", epoch + 1, sum / double(train.size()), largest);
  }

  double error = 0;
  for (const auto& [x, y] : valid) error += double(reduce_mean(square(net(x) - y)).item());
  error /= double(valid.size());
  std::printf("validation %.4f after %ld steps\n", error, optimizer.global_step());
  return error < 0.02 ? 0 : 1;
}
