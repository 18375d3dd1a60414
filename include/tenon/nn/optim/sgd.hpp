// Stochastic gradient descent with optional momentum and dampening.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

struct ApplySgdConfig {
  int nesterov = 0;
};

TENON_EXACT_BEGIN
/// One step of SGD, in place. Operands: parameter, gradient, velocity, numbers; number 4 is the gradient's share in the
/// velocity. Without momentum the velocity is neither read nor written. 16-bit floats compute in float.
struct ApplySgd : MomentUpdate<ApplySgd, "SGD"> {
  using Config = ApplySgdConfig;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C momentum = n[3], share = n[4];
    if (momentum == 0)
      return each([=]<class V>(V g, V& p) __attribute__((always_inline)) { p = p - n.rate * n.gradient(g, p); });
    each([=]<class V>(V g, V& p, V& v) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      v = momentum * v + share * g;
      if constexpr (config.nesterov != 0) p = p - n.rate * (g + momentum * v);
      else p = p - n.rate * v;
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// p = p - lr g. With momentum v = momentum v + (1 - dampening) g, in the first step v = g;  p = p - lr v, or with
/// nesterov p = p - lr (g + momentum v).
///
/// g is the gradient / loss_scale + weight_decay p. Without groups, weight decay skips parameters with beta or gamma in
/// their names. A Model throws ValueError for a negative momentum or dampening, and for nesterov without momentum or
/// with dampening. Source: MindSpore nn.SGD.
template <bool nesterov>
struct SGDWith {
  LearningRate learning_rate = 0.1;
  float momentum = 0;
  float dampening = 0;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "SGD";
  static constexpr int slots = 1;
  static constexpr std::string_view slot_names[1]{"accum"};
  void check() const {
    check_not_negative(name, "momentum", momentum);
    check_not_negative(name, "dampening", dampening);
    if (nesterov && !(momentum > 0 && dampening == 0))
      throw_error<ValueError>("SGD: nesterov needs a momentum above 0 and a dampening of 0, got ", momentum, " and ",
                              dampening, ".");
  }
  void numbers(long step, Numbers& n) const {
    n.value[3] = momentum;
    n.value[4] = step == 0 ? 1 : 1 - dampening;  // the velocity starts at 0, so that v = g in the first step
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.template call<ops::ApplySgd>(ops::ApplySgdConfig{nesterov}, parameter, gradient, slot[0], numbers);
  }
};
using SGD = SGDWith<false>;
using NesterovSGD = SGDWith<true>;

}  // namespace nn
}  // namespace tenon
