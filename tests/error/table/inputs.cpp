// A right program. inputs.txt says how it goes wrong.
#include <tenon/dataset/operation/project.hpp>
#include <tenon/dataset/operation/zip.hpp>
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 2> left;
  nn::Dense<1, 2> right;
  constexpr auto construct(auto x, auto y) const { return left(x) + right(y); }
};

int main() {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}, nn::Accuracy{}};
  std::vector<float> x(9), y(3);
  std::vector<std::int32_t> labels(3);
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<1>>(y),
                                         dataset::column<Shape<>>(labels));
  model.train(1, data | dataset::batch(3));
  std::printf("%g\n", model.eval(data | dataset::batch(3))["accuracy"]);
  std::printf("%ld\n", model.predict(data | dataset::batch(3)).n());
}
