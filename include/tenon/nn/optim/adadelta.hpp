// Adadelta: steps scaled by running means of the squares of earlier steps and of the gradient.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of Adadelta, in place. Operands: parameter, gradient, mean square of gradients, that of steps, numbers.
struct ApplyAdadelta : MomentUpdate<ApplyAdadelta, "Adadelta"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C keep = n[3], epsilon = n[4], rest = C(1) - keep;
    each([=]<class V>(V g, V& p, V& square, V& moved) __attribute__((always_inline)) {
      g = n.gradient(g, p);
      square = keep * square + rest * g * g;
      const V move = math::sqrt(moved + epsilon) / math::sqrt(square + epsilon) * g;
      moved = keep * moved + rest * move * move;
      p = p - n.rate * move;
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// a = rho a + (1 - rho) g²;  d = √(u + epsilon) / √(a + epsilon) g;  u = rho u + (1 - rho) d²;  p = p - lr d.
///
/// g is the gradient / loss_scale + weight_decay p. Without groups, weight decay skips parameters with beta or gamma in
/// their names. A Model throws ValueError unless rho is in [0, 1) and epsilon is above 0. Source: Zeiler, arXiv
/// 1212.5701; MindSpore nn.Adadelta.
struct Adadelta {
  LearningRate learning_rate = 1.0;
  float rho = 0.9f;
  float epsilon = 1e-6f;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "Adadelta";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"accum", "accum_update"};
  void check() const {
    check_below_one(name, "rho", rho);
    check_positive(name, "epsilon", epsilon);
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = rho;
    n.value[4] = epsilon;
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyAdadelta>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
