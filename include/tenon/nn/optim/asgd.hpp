// Averaged stochastic gradient descent.
#pragma once

#include <tenon/core/math/either.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of ASGD, in place. Operands: parameter, gradient, average, numbers.
struct ApplyAsgd : MomentUpdate<ApplyAsgd, "ASGD"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C shrink = C(1) - n[3], share = n[4];
    each([=]<class V>(V g, V& p, V& average) __attribute__((always_inline)) {
      p = p * shrink - n.rate * n.gradient(g, p);
      average = math::either<V>(share == 1, p, average + (p - average) * share);
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// e = lr / (1 + lambd lr t)^alpha;  p = (1 - lambd e) p - e g;  a = a + (p - a) / max(1, t - t0),  t counted from 0.
///
/// a, the average of the parameter from step t0 on, is in optimizer_state() and checkpoints as "ax_.fc.weight". With a
/// learning rate that changes, lr is that of this step (MindSpore: of the step before). g is the gradient / loss_scale
/// + weight_decay p. Without groups, weight decay skips parameters with beta or gamma in their names. A Model throws
/// ValueError for a negative lambd, alpha, or t0. Source: Polyak and Juditsky 1992; Bottou; MindSpore nn.ASGD.
struct ASGD {
  LearningRate learning_rate = 0.1;
  float lambd = 1e-4f;
  float alpha = 0.75f;
  float t0 = 1e6f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "ASGD";
  static constexpr int slots = 1;
  static constexpr std::string_view slot_names[1]{"ax_"};
  void check() const {
    check_not_negative(name, "lambd", lambd);
    check_not_negative(name, "alpha", alpha);
    check_not_negative(name, "t0", t0);
  }
  void numbers(long step, Numbers& n) const {
    const double t = static_cast<double>(step), rate = n.learning_rate(), averaged = t - double(t0);
    const double now = rate / tenon::detail::libm::pow(1 + double(lambd) * rate * t, double(alpha));
    n.learning_rate() = static_cast<float>(now);
    n.value[3] = static_cast<float>(double(lambd) * now);
    n.value[4] = static_cast<float>(averaged > 1 ? 1 / averaged : 1);
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAsgd>(NoConfig{}, parameter, gradient, slot[0], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
