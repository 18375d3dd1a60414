// For registered.sh: graphs that depend on names of members, which each pass of nvcc finds in its own way.
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
/// A random stream is a hash of names of members.
struct Masked : nn::Cell<Masked> {
  nn::Dense<12, 7> first;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop;
  nn::Dense<7, 3> last;
  constexpr auto construct(auto x) const { return last(drop(relu(first(x)))); }
};
}  // namespace

template <class Optimizer>
void train(const Optimizer& optimizer) {
  Masked net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, optimizer};
  model.train(1, dataset::from_arrays(dataset::column<Shape<12>>(std::vector<float>(48)),
                                      dataset::column<Shape<>>(std::vector<std::int32_t>(4))) |
                     dataset::batch(2));
}

int main() {
  set_context({.device_target = "GPU"});
  const nn::Momentum momentum{.learning_rate = 0.1f, .momentum = 0.9f};
  train(momentum);
  train(nn::LARS{momentum});  // leaves out parameters by their names
}
