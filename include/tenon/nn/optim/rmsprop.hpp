// RMSProp: steps scaled by a running mean of the squared gradient.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

struct ApplyRmspropConfig {
  int centered = 0;
};

TENON_EXACT_BEGIN
/// One step of RMSProp, in place. Operands: parameter, gradient, mean square, step, (if centered: mean gradient,)
/// numbers.
struct ApplyRmsprop : MomentUpdate<ApplyRmsprop, "RMSProp"> {
  using Config = ApplyRmspropConfig;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C keep = n[3], momentum = n[4], epsilon = n[5], rest = C(1) - keep;
    // the mean gradient: no operand unless centered
    each([=]<class V>(V g, V& p, V& square, V& m, auto&... mean) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      square = keep * square + rest * g * g;
      ((mean = keep * mean + rest * g), ...);
      V spread = square;
      // rounding takes it below 0 where gradients hardly change
      ((spread = math::larger<V>(square - mean * mean, C(0))), ...);
      m = momentum * m + n.rate * g / math::sqrt(spread + epsilon);
      p = p - m;
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// s = decay s + (1 - decay) g²;  m = momentum m + lr g / √(s + epsilon);  p = p - m.
///
/// s is 1 at first. The centered form keeps a = decay a + (1 - decay) g, too, and has s - a² in place of s in the
/// root, or 0 where rounding takes that below 0 (MindSpore: NaN). g is the gradient / loss_scale + weight_decay p.
/// Without groups, weight decay skips parameters with beta or gamma in their names. A Model throws ValueError unless
/// decay is in [0, 1), momentum is 0 or more, and epsilon is above 0. Source: Tieleman and Hinton 2012; Graves, arXiv
/// 1308.0850 (centered); MindSpore nn.RMSProp.
template <bool centered>
struct RMSPropWith {
  LearningRate learning_rate = 0.1;
  float decay = 0.9f;
  float momentum = 0;
  float epsilon = 1e-10f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "RMSProp";
  static constexpr int slots = centered ? 3 : 2;
  static constexpr std::string_view slot_names[3]{"mean_square", "moment", "mean_grad"};
  void check() const {
    check_below_one(name, "decay", decay);
    check_not_negative(name, "momentum", momentum);
    check_positive(name, "epsilon", epsilon);
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = decay;
    n.value[4] = momentum;
    n.value[5] = epsilon;
  }
  float initial(int slot) const { return slot == 0 ? 1 : 0; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    constexpr ops::ApplyRmspropConfig settings{centered};
    if constexpr (centered)
      b.template call<ops::ApplyRmsprop>(settings, parameter, gradient, slot[0], slot[1], slot[2], numbers);
    else b.template call<ops::ApplyRmsprop>(settings, parameter, gradient, slot[0], slot[1], numbers);
  }
};
using RMSProp = RMSPropWith<false>;
using CenteredRMSProp = RMSPropWith<true>;

}  // namespace nn
}  // namespace tenon
