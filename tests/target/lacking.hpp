// A training step with operators of many kinds, for a target that lacks one of their kernels.
#include <tenon/tenon.hpp>

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 4, 3> conv;
  nn::BatchNorm2d<4> norm;
  nn::Dense<64, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(max_pool2d<2>(relu(norm(conv(x)))))); }
};

int main() {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
  const std::vector<float> x(64, 1.0f);
  const std::vector<std::int32_t> y{1};
  model.train(
      1, dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(x), dataset::column<Shape<>>(y)) | dataset::batch(1));
}
