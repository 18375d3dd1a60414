// expects: loss: Scaled has parameters or settings: make the loss a member of the network, whose construct then takes
// lines: g++ 8, clang 9, nvcc 8
#include <tenon/tenon.hpp>
using namespace tenon;

struct Scaled : nn::Cell<Scaled> {
  nn::Setting<2> factor;
  constexpr auto construct(auto prediction, auto target) const { return factor * nn::MSELoss{}(prediction, target); }
};
struct Net : nn::Cell<Net> {
  nn::Dense<3, 1> dense;
  constexpr auto construct(auto x) const { return dense(x); }
};

void f() {
  Net net;
  Model model{net, Scaled{}, nn::SGD{.learning_rate = 0.1f}};
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(9)),
                                         dataset::column<Shape<1>>(std::vector<float>(3)));
  model.train(1, data | dataset::batch(3));
}
