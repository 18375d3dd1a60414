// LeNet on MNIST of 32 x 32, and of 28 x 28 with padding in the first convolution.
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/optim/lamb.hpp>
#include <tenon/nn/optim/rmsprop.hpp>

#include "trajectories.hpp"

using namespace trajectories;

namespace lenet {

template <nn::Conv2dConfig first>
struct LeNet : nn::Cell<LeNet<first>> {
  nn::Conv2d<1, 6, 5, first> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;
  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

struct Images : NothingNoisy {
  using Element = float;
  using Label = Shape<>;
  static std::vector<float> input(const support::NpyArray& x) {
    std::vector<float> result;
    for (const std::uint8_t v : x.values<std::uint8_t>()) result.push_back((float(v) / 255.0f - 0.1307f) / 0.3081f);
    return result;
  }
};
struct Lenet32 : Images {
  static constexpr const char* name = "lenet32";
  using Net = LeNet<nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}>;
  using Input = Shape<1, 32, 32>;
};
struct Lenet28pad : Images {
  static constexpr const char* name = "lenet28pad";
  using Net = LeNet<nn::Conv2dConfig{.pad_mode = PadMode::pad, .padding = 2, .has_bias = true}>;
  using Input = Shape<1, 28, 28>;
};

const Register all{
    {"lenet32/sgd", [] { repeat<Lenet32>("sgd", nn::SGD{.learning_rate = 0.05}); }},
    {"lenet32/momentum", [] { repeat<Lenet32>("momentum", nn::Momentum{.learning_rate = 0.01, .momentum = 0.9f}); }},
    {"lenet32/momentum_pynative",
     [] { repeat<Lenet32>("momentum_pynative", nn::Momentum{.learning_rate = 0.01, .momentum = 0.9f}); }},
    {"lenet32/momentum_nesterov_wd",
     [] {
       repeat<Lenet32>("momentum_nesterov_wd",
                       nn::NesterovMomentum{.learning_rate = 0.01, .momentum = 0.9f, .weight_decay = 1e-3f});
     }},
    {"lenet32/rmsprop", [] { repeat<Lenet32>("rmsprop", nn::RMSProp{.learning_rate = 0.001}); }},
    {"lenet32/adam", [] { repeat<Lenet32>("adam", nn::Adam{}); }},
    {"lenet32/adamweightdecay", [] { repeat<Lenet32>("adamweightdecay", nn::AdamWeightDecay{.weight_decay = 0.01f}); }},
    {"lenet28pad/momentum",
     [] { repeat<Lenet28pad>("momentum", nn::Momentum{.learning_rate = 0.01, .momentum = 0.9f}); }},
    {"lenet28pad/lamb", [] { repeat<Lenet28pad>("lamb", nn::Lamb{.learning_rate = 0.01, .weight_decay = 0.01f}); }},
    {"lenet28pad/adam", [] { repeat<Lenet28pad>("adam", nn::Adam{}); }},
};

}  // namespace lenet
