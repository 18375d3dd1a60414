// Adagrad: steps scaled by the sum of all squared gradients.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of Adagrad, in place. Operands: parameter, gradient, sum of squares, numbers.
struct ApplyAdagrad : MomentUpdate<ApplyAdagrad, "Adagrad"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C share = n[3];  // 1 if the sum grows, 0 if it stays
    each([=]<class V>(V g, V& p, V& sum) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      sum = sum + share * g * g;
      p = p - n.rate * g / math::sqrt(sum);
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// a = a + g²;  p = p - lr g / √a.
///
/// a is `accum` at first, and stays so without update_slots. g is the gradient / loss_scale + weight_decay p. Without
/// groups, weight decay skips parameters with beta or gamma in their names. A Model throws ValueError unless accum is
/// above 0: there is no epsilon. MindSpore accepts 0, which gives NaN where the first gradient is 0. Source: Duchi and
/// others 2011; MindSpore nn.Adagrad.
struct Adagrad {
  float accum = 0.1f;
  LearningRate learning_rate = 1e-3;
  bool update_slots = true;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "Adagrad";
  static constexpr int slots = 1;
  static constexpr std::string_view slot_names[1]{"accum"};
  void check() const { check_positive(name, "accum", accum); }
  void numbers(long, Numbers& n) const { n.value[3] = update_slots ? 1 : 0; }
  float initial(int) const { return accum; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdagrad>(NoConfig{}, parameter, gradient, slot[0], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
