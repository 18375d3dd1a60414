// The small perceptron with the optimizers of which every parameter has a step of its own.
#include <tenon/nn/optim/adadelta.hpp>
#include <tenon/nn/optim/adagrad.hpp>
#include <tenon/nn/optim/adamax.hpp>
#include <tenon/nn/optim/asgd.hpp>
#include <tenon/nn/optim/ftrl.hpp>
#include <tenon/nn/optim/lamb.hpp>
#include <tenon/nn/optim/lazy_adam.hpp>
#include <tenon/nn/optim/proximal_adagrad.hpp>
#include <tenon/nn/optim/rmsprop.hpp>
#include <tenon/nn/optim/rprop.hpp>

#include "trajectories_mlp.hpp"

using namespace mlp;

namespace {

const Register adaptive{
    {"mlp/rmsprop", [] { repeat<Mlp>("rmsprop", nn::RMSProp{.learning_rate = 0.005}); }},
    {"mlp/rmsprop_momentum",
     [] { repeat<Mlp>("rmsprop_momentum", nn::RMSProp{.learning_rate = 0.005, .momentum = 0.5f, .epsilon = 1e-6f}); }},
    {"mlp/rmsprop_centered",
     [] { repeat<Mlp>("rmsprop_centered", nn::CenteredRMSProp{.learning_rate = 0.002, .epsilon = 1e-3f}); }},
    {"mlp/adagrad", [] { repeat<Mlp>("adagrad", nn::Adagrad{.learning_rate = 0.05}); }},
    {"mlp/adagrad_wd",
     [] { repeat<Mlp>("adagrad_wd", nn::Adagrad{.accum = 0.2f, .learning_rate = 0.05, .weight_decay = 0.01f}); }},
    {"mlp/proximaladagrad",
     [] { repeat<Mlp>("proximaladagrad", nn::ProximalAdagrad{.learning_rate = 0.05, .l2 = 0.001f}); }},
    {"mlp/adadelta", [] { repeat<Mlp>("adadelta", nn::Adadelta{.learning_rate = 1.0, .rho = 0.9f}); }},
    {"mlp/adamax", [] { repeat<Mlp>("adamax", nn::AdaMax{.learning_rate = 0.01}); }},
    {"mlp/lamb", [] { repeat<Mlp>("lamb", nn::Lamb{.learning_rate = 0.02, .weight_decay = 0.01f}); }},
    {"mlp/lazyadam", [] { repeat<Mlp>("lazyadam", nn::LazyAdam{.learning_rate = 0.01}); }},
    {"mlp/asgd", [] { repeat<Mlp>("asgd", nn::ASGD{.learning_rate = 0.05}); }},
    {"mlp/rprop", [] { repeat<Mlp>("rprop", nn::Rprop{.learning_rate = 0.01}); }},
    {"mlp/ftrl", [] { repeat<Mlp>("ftrl", nn::FTRL{.learning_rate = 0.05}); }},
};

}  // namespace
