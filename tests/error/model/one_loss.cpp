// expects: loss: MSELoss got 2 outputs of the network: nn::MultiLoss{nn::MSELoss{}, ...} has a loss for each; a loss of
// lines: g++ 8, clang 9, nvcc 8
#include <tenon/more.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 2> place;
  nn::Dense<3, 1> size;
  constexpr auto construct(auto x) const { return std::tuple(place(x), size(x)); }
};

void f() {
  Net net;
  const auto x = dataset::column<Shape<3>>(std::vector<float>(9));
  const auto place = dataset::column<Shape<2>>(std::vector<float>(6));
  const auto size = dataset::column<Shape<1>>(std::vector<float>(3));
  Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 0.1f}};
  model.train(1, dataset::from_arrays(x, place) | dataset::batch(3));
}
