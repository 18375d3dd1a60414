// The cure of nested.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Block : nn::Cell<Block> {
  nn::Conv2d<8, 4, 3> conv1;
  constexpr auto construct(auto x) const { return relu(conv1(x)); }
};
struct Backbone : nn::Cell<Backbone> {
  nn::Conv2d<1, 8, 3> stem;
  Block block;
  constexpr auto construct(auto x) const { return block(relu(stem(x))); }
};
struct Net : nn::Cell<Net> {
  Backbone network;
  nn::Dense<4 * 28 * 28, 10> fc;
  constexpr auto construct(auto x) const { return fc(flatten(network(x))); }
};

void f(Net& net, dataset::Digits digits) {
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, digits | dataset::batch(32));
}
