// A right program. outputs.txt says how it goes wrong.
#include <tenon/dataset/operation/project.hpp>
#include <tenon/more.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 2> classes;
  nn::Dense<3, 1> size;
  constexpr auto construct(auto x) const { return std::tuple(classes(x), size(x)); }
};

int main() {
  Net net;
  nn::MultiLoss loss{nn::SoftmaxCrossEntropyWithLogits{}, nn::weighted_loss<0.5f>(nn::MSELoss{})};
  Model model{net, loss, nn::SGD{.learning_rate = 0.1f}, nn::for_output<1>("size", nn::MAE{})};
  std::vector<float> x(9), sizes(3);
  std::vector<std::int32_t> labels(3);
  const auto data = dataset::from_arrays(dataset::column<Shape<3>>(x), dataset::column<Shape<>>(labels),
                                         dataset::column<Shape<1>>(sizes));
  model.train(1, data | dataset::batch(3));
  std::printf("%g\n", model.eval(data | dataset::batch(3))["size"]);
}
