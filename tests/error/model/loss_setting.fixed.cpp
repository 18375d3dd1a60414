// The loss is a member of the network.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Scaled : nn::Cell<Scaled> {
  nn::Setting<2> factor;
  constexpr auto construct(auto prediction, auto target) const { return factor * nn::MSELoss{}(prediction, target); }
};
struct Net : nn::Cell<Net> {
  nn::Dense<3, 1> dense;
  Scaled loss;
  constexpr auto construct(auto x, auto target) const { return loss(dense(x), target); }
};

void f() {
  Net net;
  Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.1f}};
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(9)),
                                         dataset::column<Shape<1>>(std::vector<float>(3)));
  model.train(1, data | dataset::batch(3));
}
