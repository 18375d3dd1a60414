// Lamb: Adam's direction, with steps in proportion to the parameter's norm.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>
#include <tenon/nn/optim/update/norms.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
namespace detail {
/// The function that moves the moments of an element on and returns the direction of its step, with its decay.
template <class C>
TENON_DEVICE inline auto lamb_direction(UpdateNumbers<C> n) {
  const C beta1 = n[3], beta2 = n[4], epsilon = n[5], correction1 = n[6], correction2 = n[7];
  const C rest1 = C(1) - beta1, rest2 = C(1) - beta2;
  return [=]<class V>(V g, V p, V& m, V& v) __attribute__((always_inline)) {
    g = g * n.scale;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return m * correction1 / (math::sqrt(v * correction2) + epsilon) + n.decay * p;
  };
}
/// The quotient of two norms, 1 where one of them is 0. A norm that is NaN makes it NaN.
template <class A>
TENON_DEVICE inline A norm_ratio(A above, A below) {
  return above == 0 || below == 0 ? A(1) : above / below;
}
}  // namespace detail
/// Sums of squares of the parameter and of the direction of its step. Operands: parameter, gradient, first moment,
/// second moment, as they were before the step, numbers.
struct LambSquares : UpdateSums<LambSquares, "LambSquares"> {
  template <class C>
  TENON_DEVICE static void direction(UpdateNumbers<C> n, auto each) {
    each(detail::lamb_direction(n));
  }
};
/// The learning rate times the ratio of the norms.
struct LambNumbers : RenewedNumbers<LambNumbers, "LambNumbers"> {
  template <class A>
  TENON_DEVICE static void renew(const A (&sum)[2], long, float* number) {
    number[0] = static_cast<float>(A(number[0]) * detail::norm_ratio(math::sqrt(sum[0]), math::sqrt(sum[1])));
  }
};
/// One step of Lamb, in place. Operands: parameter, gradient, first moment, second moment, numbers.
struct ApplyLamb : MomentUpdate<ApplyLamb, "Lamb"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const auto direction = detail::lamb_direction(n);
    each([=]<class V>(V g, V& p, V& m, V& v)
             __attribute__((always_inline)) { p = p - n.rate * direction(g, p, m, v); });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²;
/// r = m / (1 - beta1ᵗ) / (√(v / (1 - beta2ᵗ)) + eps) + weight_decay p,  t counted from 1;
/// p = p - lr |p| / |r| r.
///
/// |p| / |r| is the ratio of the norms of the whole parameter, 1 where one of them is 0. g is the gradient /
/// loss_scale; the decay does not enter the moments. Without groups, it skips parameters with beta or gamma in their
/// names. Two passes over memory: one for the norms. A Model throws ValueError unless beta1 and beta2 are inside (0,
/// 1) and eps is above 0. Source: You and others, arXiv 1904.00962; MindSpore nn.Lamb.
struct Lamb {
  LearningRate learning_rate;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-6f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "Lamb";
  static constexpr bool whole_parameters = true;
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"moment1", "moment2"};
  void check() const {
    check_inside_unit(name, "beta1", beta1);
    check_inside_unit(name, "beta2", beta2);
    check_positive(name, "eps", eps);
  }
  void numbers(long step, Numbers& n) const {
    const double t = static_cast<double>(step) + 1;
    n.value[3] = beta1;
    n.value[4] = beta2;
    n.value[5] = eps;
    n.value[6] = static_cast<float>(1 / (1 - tenon::detail::libm::pow(double(beta1), t)));
    n.value[7] = static_cast<float>(1 / (1 - tenon::detail::libm::pow(double(beta2), t)));
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    const int squares = b.call<ops::LambSquares>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
    b.call<ops::ApplyLamb>(NoConfig{}, parameter, gradient, slot[0], slot[1],
                           renewed<ops::LambNumbers>(b, squares, numbers));
  }
};

}  // namespace nn
}  // namespace tenon
