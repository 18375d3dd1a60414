// The cure of metric_prediction.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 1> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

void f(Net& net, std::vector<float> x, std::vector<float> y) {
  auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<1>>(y));
  Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.1f}, nn::Loss{}};
  model.eval(data | dataset::batch(32));
}
