// Adam: steps scaled by running means of the gradient and of its square.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/lazy_rows.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

struct ApplyAdamConfig {
  int use_nesterov = 0, use_amsgrad = 0;
};

TENON_EXACT_BEGIN
/// One step of Adam, in place. Operands: parameter, gradient, first moment, second moment, (with AMSGrad: largest
/// second moment,) numbers. The learning rate among the numbers is corrected for the bias. 16-bit floats compute in
/// float.
struct ApplyAdam : MomentUpdate<ApplyAdam, "Adam"> {
  using Config = ApplyAdamConfig;
  // fuse_update would not pay: a step of an MLP takes 20 % less time with a batch of 1, but 7 % more with 16
  static constexpr bool update = false;
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C beta1 = n[3], beta2 = n[4], epsilon = n[5], rest1 = C(1) - beta1, rest2 = C(1) - beta2;
    // the largest square so far: no operand without AMSGrad
    each([=]<class V>(V g, V& p, V& m, V& v, auto&... largest) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      m = beta1 * m + rest1 * g;
      v = beta2 * v + rest2 * g * g;
      V square = v;
      ((square = largest = math::larger(largest, v)), ...);
      const V direction = config.use_nesterov != 0 ? beta1 * m + rest1 * g : m;
      p = p - n.rate * direction / (math::sqrt(square) + epsilon);
    });
  }
};
/// The same in the rows of a table that were used. A part of LazyAdam.
struct ApplyLazyAdam : LazyUpdate<ApplyLazyAdam, "LazyAdam", ApplyAdam> {
  using Config = ApplyAdamConfig;
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

struct AdamConfig {
  bool use_nesterov = false, use_amsgrad = false;
};

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
/// p = p - lr √(1 - beta2ᵗ) / (1 - beta1ᵗ) · m / (√v + eps),  t counted from 1.
///
/// use_nesterov replaces m in the last line by beta1 m + (1 - beta1) g; use_amsgrad replaces v by the largest v so far.
/// g is the gradient / loss_scale + weight_decay p; see AdamWeightDecay for decoupled decay. Without groups, weight
/// decay skips parameters with beta or gamma in their names. A Model throws ValueError unless beta1 and beta2 are
/// inside (0, 1) and eps is above 0. Source: Kingma and Ba, arXiv 1412.6980; Reddi et al. 2018 (AMSGrad); MindSpore
/// nn.Adam. If `lazy` it is nn::LazyAdam.
template <AdamConfig config, bool lazy = false>
struct AdamWith {
  LearningRate learning_rate = 1e-3;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = lazy ? "LazyAdam" : "Adam";
  static constexpr int slots = config.use_amsgrad ? 3 : 2;
  static constexpr std::string_view slot_names[3]{"moment1", "moment2", "vhat"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long step, Numbers& n) const {
    const double t = static_cast<double>(step) + 1;
    n.learning_rate() = static_cast<float>(n.learning_rate() *
                                           tenon::detail::libm::sqrt(1 - tenon::detail::libm::pow(double(beta2), t)) /
                                           (1 - tenon::detail::libm::pow(double(beta1), t)));
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    constexpr ops::ApplyAdamConfig settings{config.use_nesterov, config.use_amsgrad};
    if constexpr (config.use_amsgrad)
      b.template call<ops::ApplyAdam>(settings, parameter, gradient, slot[0], slot[1], slot[2], numbers);
    else b.template call<ops::ApplyAdam>(settings, parameter, gradient, slot[0], slot[1], numbers);
  }
  template <class = void>
  static constexpr void update_rows(Builder& b, int parameter, int gradient, const int* slot, int numbers)
      requires(lazy)
  {
    static_assert(!config.use_amsgrad, "LazyAdam has no AMSGrad");
    constexpr ops::ApplyAdamConfig settings{config.use_nesterov, 0};
    b.template call<ops::ApplyLazyAdam>(settings, parameter, mark_unused_rows(b, gradient), slot[0], slot[1], numbers);
  }
};
/// `nn::Adam{.learning_rate = 0.001f}`; the others are `nn::AdamWith<nn::AdamConfig{.use_amsgrad = true}>{...}`.
using Adam = AdamWith<AdamConfig{}>;

}  // namespace nn
}  // namespace tenon
