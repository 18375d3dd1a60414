// A right program. steps.txt says how it goes wrong.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 16> hidden;
  nn::Dense<16, 10> output;
  constexpr auto construct(auto x) const { return output(relu(hidden(x))); }
};

int main() {
  Net net;
  nn::SoftmaxCrossEntropyWithLogits loss;
  nn::Adam adam{.learning_rate = 1e-3};
  const auto x = Tensor<float, Shape<dyn, 784>>::zeros(2);
  const auto y = Tensor<std::int32_t, Shape<dyn>>::zeros(2);
  nn::TrainOneStepCell step(net, net.output, adam, [](const auto& n, const auto& image, const auto& label) {
    return nn::SoftmaxCrossEntropyWithLogits{}(n(image), label);
  });
  std::printf("%g\n", step(x, y).item());
}
