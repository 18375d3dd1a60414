// Stochastic gradient descent with momentum.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

struct ApplyMomentumConfig {
  int use_nesterov = 0;
};

TENON_EXACT_BEGIN
/// One step of Momentum, in place. Operands: parameter, gradient, velocity, numbers. 16-bit floats compute in float.
struct ApplyMomentum : MomentUpdate<ApplyMomentum, "Momentum"> {
  using Config = ApplyMomentumConfig;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C momentum = n[3], ahead = n.rate * momentum;
    const auto plain = [=]<class V>(V g, V& p, V& v) __attribute__((always_inline)) {
      v = momentum * v + g;
      if constexpr (config.use_nesterov != 0) p = p - (n.rate * g + ahead * v);
      else p = p - n.rate * v;
    };
    // products are what an update waits for
    if (n.scale == 1 && n.decay == 0) each(plain);
    else each([=]<class V>(V g, V& p, V& v) __attribute__((always_inline)) { plain(n.gradient(g, p), p, v); });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// v = momentum v + g;  p = p - lr v, or with Nesterov's look-ahead p = p - lr (g + momentum v).
///
/// g is the gradient / loss_scale + weight_decay p, the gradient itself where they are 1 and 0. Without groups, weight
/// decay skips parameters with beta or gamma in their names. A Model throws ValueError for a negative momentum, or if
/// none is given. Source: MindSpore nn.Momentum.
template <bool use_nesterov>
struct MomentumWith {
  LearningRate learning_rate;
  float momentum = not_given;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "Momentum";
  static constexpr int slots = 1;
  static constexpr std::string_view slot_names[1]{"moments"};
  void check() const {
    if (momentum == not_given)
      throw_error<ValueError>("Momentum: momentum is required, but was not given: write nn::Momentum{.learning_rate = "
                              "0.01f, .momentum = 0.9f}, or nn::SGD to do without.");
    check_not_negative(name, "momentum", momentum);
  }
  void numbers(long, Numbers& n) const { n.value[3] = momentum; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.template call<ops::ApplyMomentum>(ops::ApplyMomentumConfig{use_nesterov}, parameter, gradient, slot[0], numbers);
  }
};
/// Without a template argument, so that a compiler knows the fields: `nn::Momentum{.learning_rate = 0.01f, .momentum =
/// 0.9f}`.
using Momentum = MomentumWith<false>;
using NesterovMomentum = MomentumWith<true>;

}  // namespace nn
}  // namespace tenon
