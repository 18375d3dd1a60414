// AdaMax: Adam with the largest gradient in place of the root of the mean square.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of AdaMax, in place. Operands: parameter, gradient, mean gradient, largest gradient, numbers.
struct ApplyAdamax : MomentUpdate<ApplyAdamax, "AdaMax"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C beta1 = n[3], beta2 = n[4], epsilon = n[5], rest = C(1) - beta1;
    each([=]<class V>(V g, V& p, V& m, V& largest) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      m = beta1 * m + rest * g;
      largest = math::larger(beta2 * largest, math::larger(g, -g));
      p = p - n.rate * m / (largest + epsilon);
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// m = beta1 m + (1 - beta1) g;  u = max(beta2 u, |g|);
/// p = p - lr / (1 - beta1ᵗ) · m / (u + eps),  t counted from 1.
///
/// g is the gradient / loss_scale + weight_decay p. Without groups, weight decay skips parameters with beta or gamma in
/// their names. A Model throws ValueError unless beta1 and beta2 are inside (0, 1) and eps is above 0. Source: Kingma
/// and Ba, arXiv 1412.6980; MindSpore nn.AdaMax.
struct AdaMax {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "AdaMax";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"moment1", "moment2"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long step, Numbers& n) const {
    const double t = static_cast<double>(step) + 1;
    n.learning_rate() = static_cast<float>(n.learning_rate() / (1 - tenon::detail::libm::pow(double(beta1), t)));
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdamax>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
