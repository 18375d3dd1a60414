// Adam with decoupled weight decay.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of AdamWeightDecay, in place. Operands: parameter, gradient, first moment, second moment, numbers. 16-bit
/// floats compute in float.
struct ApplyAdamWeightDecay : MomentUpdate<ApplyAdamWeightDecay, "AdamWeightDecay"> {
  // as of ApplyAdam
  static constexpr bool update = false;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C beta1 = n[3], beta2 = n[4], epsilon = n[5], rest1 = C(1) - beta1, rest2 = C(1) - beta2;
    each([=]<class V>(V g, V& p, V& m, V& v) __attribute__((always_inline)) {
      g = g * n.scale;
      m = beta1 * m + rest1 * g;
      v = beta2 * v + rest2 * g * g;
      p = p - n.rate * (m / (math::sqrt(v) + epsilon) + n.decay * p);
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;  p = p - lr (m / (√v + eps) + weight_decay p).
///
/// There is no bias correction, as in MindSpore: the first steps are larger than Adam's. g is the gradient /
/// loss_scale; the decay does not enter the moments. Without groups, it skips parameters with beta or gamma in their
/// names. A Model throws ValueError unless beta1 and beta2 are inside (0, 1) and eps is above 0.
/// Source: Loshchilov and Hutter, arXiv 1711.05101; MindSpore nn.AdamWeightDecay.
struct AdamWeightDecay {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-6f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "AdamWeightDecay";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"adam_m", "adam_v"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdamWeightDecay>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
