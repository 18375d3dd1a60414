// Trains with products from the object of its own, and prints the compiler of the object if the bits are those of
// Reference.
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  Parameter<float, Shape<6, 5>, nn::Normal{0.5f}> first;
  Parameter<float, Shape<5, 3>, nn::Normal{0.5f}> second;
  constexpr auto construct(auto x) const { return matmul(relu(matmul(x, first)), second); }
};

std::vector<float> train(std::string_view target, Mode mode) {
  const ContextScope scope({.mode = mode, .device_target = target, .num_threads = 1, .seed = 3});
  std::vector<float> x(6 * 40), all;
  std::vector<std::int32_t> y(40);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * i % 17) / 8 - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = int(i % 3);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}};
  // the last batch is smaller: sizes are known at run time
  model.train(2, dataset::from_arrays(dataset::column<Shape<6>>(x), dataset::column<Shape<>>(y)) | dataset::batch(9));
  for (const auto& [name, tensor] : named_parameters(net))
    for (const float value : tensor.as<float>()) all.push_back(value);
  return all;
}
}  // namespace

int main() {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const std::vector<float> expected = train("Reference", mode);
    const long before = separate_products();
    if (train("Separate", mode) != expected) return std::puts("other bits than Reference"), 1;
    // 2 epochs of 5 batches, with 2 products forward
    if (separate_products() - before < 20) return std::puts("the object was not called for each product"), 1;
  }
  std::puts(separate_compiler());
}
