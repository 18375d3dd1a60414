// A loss for each output.
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
  Model model{net, nn::MultiLoss{nn::MSELoss{}, nn::MSELoss{}}, nn::SGD{.learning_rate = 0.1f}};
  model.train(1, dataset::from_arrays(x, place, size) | dataset::batch(3));
}
