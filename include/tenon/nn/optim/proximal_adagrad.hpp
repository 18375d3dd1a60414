// Adagrad with a proximal step that moves parameters towards 0 after each update.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of ProximalAdagrad, in place. Operands: parameter, gradient, sum of squares, numbers.
struct ApplyProximalAdagrad : MomentUpdate<ApplyProximalAdagrad, "ProximalAdagrad"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C l1 = n[3], l2 = n[4];
    each([=]<class V>(V g, V& p, V& sum) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      sum = sum + g * g;
      const V rate = n.rate / math::sqrt(sum), limit = rate * l1, moved = p - rate * g;
      // the difference of what is within the limit with itself is 0, or NaN where it is NaN
      const V drawn = math::where_greater(moved, limit, moved - limit,
                                          math::where_greater(-limit, moved, moved + limit, moved - moved));
      p = drawn / (C(1) + rate * l2);
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// a = a + g²;  r = lr / √a;  q = p - r g;  p = sign(q) max(|q| - r l1, 0) / (1 + r l2).
///
/// a is `accum` at first. g is the gradient / loss_scale + weight_decay p. Without groups, weight decay skips
/// parameters with beta or gamma in their names. A Model throws ValueError unless accum is above 0 and l1 and l2 are 0
/// or more. Source: Duchi and Singer 2009; MindSpore nn.ProximalAdagrad.
struct ProximalAdagrad {
  float accum = 0.1f;
  LearningRate learning_rate = 1e-3;
  float l1 = 0;
  float l2 = 0;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "ProximalAdagrad";
  static constexpr int slots = 1;
  static constexpr std::string_view slot_names[1]{"accum"};
  void check() const {
    check_positive(name, "accum", accum);
    check_not_negative(name, "l1", l1);
    check_not_negative(name, "l2", l2);
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = l1;
    n.value[4] = l2;
  }
  float initial(int) const { return accum; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyProximalAdagrad>(NoConfig{}, parameter, gradient, slot[0], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
