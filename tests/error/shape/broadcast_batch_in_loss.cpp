// expects: loss: MSELoss got a prediction float32 [n,1] and a label float32 [n]: the shapes do not broadcast, the label
// must have that of the prediction
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 1> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

void f(Net& net, std::vector<float> x, std::vector<float> y) {
  auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(y));
  Model model{pinned<Mode::graph>, net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.1f}};
  model.train(1, data | dataset::batch(32));
}
