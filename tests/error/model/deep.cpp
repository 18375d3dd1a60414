// expects: network: the derivative takes more steps than this compiler allows: compile with -fconstexpr-
// 500 layers. Both compilers count the steps of constant evaluation, and both can be told to go on.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Layer : nn::Cell<Layer> {
  nn::Dense<16, 16> dense;
  constexpr auto construct(auto x) const { return relu(dense(x)); }
};
struct Net : nn::Cell<Net> {
  nn::CellList<Layer, 500> layers;
  nn::Dense<16, 10> head;
  constexpr auto construct(auto x) const { return head(layers(x)); }
};

void train(const std::vector<float>& x, const std::vector<std::int32_t>& y) {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f}};
  const auto data = dataset::from_arrays(dataset::column<Shape<16>>(x), dataset::column<Shape<>>(y));
  model.train(1, data | dataset::batch(32));
}
