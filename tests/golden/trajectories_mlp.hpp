// A small perceptron with layer normalization, for every optimizer and learning rate.
#pragma once
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>

#include "trajectories.hpp"

namespace mlp {

using namespace trajectories;

struct Net : nn::Cell<Net> {
  nn::Dense<12, 16> fc1;
  nn::LayerNorm<Shape<16>, nn::LayerNormConfig{.epsilon = 1e-5f}> ln;
  nn::Dense<16, 8> fc2;
  nn::Dense<8, 4> fc3;
  constexpr auto construct(auto x) const { return fc3(tanh(fc2(relu(ln(fc1(x)))))); }
};

struct Mlp : NothingNoisy {
  static constexpr const char* name = "mlp";
  using Net = mlp::Net;
  using Element = float;
  using Input = Shape<12>;
  using Label = Shape<>;
  static std::vector<float> input(const support::NpyArray& x) { return x.values<float>(); }
};

}  // namespace mlp
