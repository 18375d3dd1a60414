// expects: loss: Sub of [n,1] and [n] would be [n,n]: only the leading extent can depend on n; give both the same
// rank, with expand_dims or squeeze
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
