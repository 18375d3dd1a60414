// The small perceptron with SGD, Momentum, Adam, and learning rates of every kind.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "trajectories_mlp.hpp"

using namespace mlp;

namespace {

/// The loss times 128, as a loss scale has it.
struct Loss128 : nn::Cell<Loss128> {
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto logits, auto labels) const { return entropy(logits, labels) * 128.0f; }
};

double cosine(long i) {
  return 0.001 + 0.5 * (0.05 - 0.001) * (1 + std::cos(std::numbers::pi * double(std::min(i, 15L)) / 15));
}
double polynomial(long i) { return (0.05 - 0.001) * std::pow(1 - double(std::min(i, 10L)) / 10, 2) + 0.001; }
double stairs(long i) { return 0.05 * std::pow(0.9, double(i / 4)); }
double warm_up(long i) { return 0.05 * double(std::min(i, 8L)) / 8; }
std::vector<double> falling() {
  std::vector<double> rates;
  for (int i = 0; i < 20; ++i) rates.push_back(0.05 * std::pow(0.9, i));
  return rates;
}

const Register all{
    {"mlp/sgd", [] { repeat<Mlp>("sgd", nn::SGD{.learning_rate = 0.05}); }},
    {"mlp/sgd_momentum_dampening_wd",
     [] {
       repeat<Mlp>("sgd_momentum_dampening_wd",
                   nn::SGD{.learning_rate = 0.05, .momentum = 0.9f, .dampening = 0.2f, .weight_decay = 0.01f});
     }},
    {"mlp/sgd_nesterov", [] { repeat<Mlp>("sgd_nesterov", nn::NesterovSGD{.learning_rate = 0.05, .momentum = 0.9f}); }},
    {"mlp/sgd_poly", [] { repeat<Mlp>("sgd_poly", nn::SGD{.learning_rate = polynomial}); }},
    {"mlp/momentum", [] { repeat<Mlp>("momentum", nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f}); }},
    {"mlp/momentum_pynative",
     [] { repeat<Mlp>("momentum_pynative", nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f}); }},
    {"mlp/momentum_wd",
     [] { repeat<Mlp>("momentum_wd", nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f, .weight_decay = 0.01f}); }},
    {"mlp/momentum_nesterov",
     [] { repeat<Mlp>("momentum_nesterov", nn::NesterovMomentum{.learning_rate = 0.05, .momentum = 0.9f}); }},
    {"mlp/momentum_loss_scale",
     [] {
       repeat<Mlp, Loss128>(
           "momentum_loss_scale",
           nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f, .weight_decay = 0.01f, .loss_scale = 128}, 128);
     }},
    {"mlp/momentum_groups",
     [] {
       repeat<Mlp>("momentum_groups",
                   nn::Momentum{.learning_rate = 0.05,
                                .momentum = 0.9f,
                                .weight_decay = 0.01f,
                                .groups = {{.params = {"fc1.*"}, .learning_rate = 0.02, .weight_decay = 0.05f}}});
     }},
    {"mlp/momentum_lr_list",
     [] { repeat<Mlp>("momentum_lr_list", nn::Momentum{.learning_rate = falling(), .momentum = 0.9f}); }},
    {"mlp/momentum_cosine",
     [] { repeat<Mlp>("momentum_cosine", nn::Momentum{.learning_rate = cosine, .momentum = 0.9f}); }},
    {"mlp/adam", [] { repeat<Mlp>("adam", nn::Adam{.learning_rate = 0.01}); }},
    {"mlp/adam_pynative", [] { repeat<Mlp>("adam_pynative", nn::Adam{.learning_rate = 0.01}); }},
    {"mlp/adam_wd", [] { repeat<Mlp>("adam_wd", nn::Adam{.learning_rate = 0.01, .weight_decay = 0.01f}); }},
    {"mlp/adam_nesterov",
     [] { repeat<Mlp>("adam_nesterov", nn::AdamWith<nn::AdamConfig{.use_nesterov = true}>{.learning_rate = 0.01}); }},
    {"mlp/adam_amsgrad",
     [] { repeat<Mlp>("adam_amsgrad", nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>{.learning_rate = 0.01}); }},
    {"mlp/adam_exp_stair", [] { repeat<Mlp>("adam_exp_stair", nn::Adam{.learning_rate = stairs}); }},
    {"mlp/adam_warmup", [] { repeat<Mlp>("adam_warmup", nn::Adam{.learning_rate = warm_up}); }},
    {"mlp/adamweightdecay",
     [] { repeat<Mlp>("adamweightdecay", nn::AdamWeightDecay{.learning_rate = 0.01, .weight_decay = 0.01f}); }},
};

}  // namespace
