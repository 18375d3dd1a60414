// expects: the data set has 3 columns, a model with a loss function needs 2: data and label
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(x)); }
};

void f(Net& net, std::vector<float> images, std::vector<int> labels) {
  auto data = dataset::from_arrays(dataset::column<Shape<28, 28>>(images), dataset::column<Shape<>>(labels),
                                   dataset::column<Shape<>>(labels));
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, data | dataset::batch(32));
}
