// A training with a scan over TURNS slices and a while_loop of at most as many turns, for turns.sh.
#include <tenon/more.hpp>

using namespace tenon;

struct Turns : nn::Cell<Turns> {
  nn::Dense<4, 8> input;
  nn::Dense<8, 8> hidden;
  nn::Dense<8, 3> fc;
  constexpr auto construct(auto x) const {
    const auto h = scan([&](auto h, auto v) { return tanh(hidden(h) + v); }, zeros<Shape<dyn, 8>>(x), input(x));
    const auto size = reduce_mean(ops::square(h)) + 1.0f;
    const auto root = while_loop<TURNS>([&](auto y) { return abs(y * y - size) > 1e-5f; },
                                        [&](auto y) { return (y + size / y) * 0.5f; }, size);
    return fc(h / root);
  }
};

int main() {
  Turns net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}};
  model.train(1, dataset::from_arrays(dataset::column<Shape<TURNS, 4>>(std::vector<float>(8 * TURNS * 4, 0.5f)),
                                      dataset::column<Shape<>>(std::vector<std::int32_t>(8, 1))) |
                     dataset::batch(4));
}
