// expects: Accuracy compares classes, and got one number per sample, float32 [n,1]: give two classes two outputs and
// nn::SoftmaxCrossEntropyWithLogits; nn::MAE{} and nn::Loss{} judge a regression
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 1> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

void f(Net& net, std::vector<float> x, std::vector<float> y) {
  auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<1>>(y));
  Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.1f}, nn::Accuracy{}};
  model.eval(data | dataset::batch(32));
}
