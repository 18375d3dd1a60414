// Rprop: steps whose size depends only on the sign of the gradient.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of Rprop, in place. Operands: parameter, gradient, last gradient, size of a step, numbers.
struct ApplyRprop : MomentUpdate<ApplyRprop, "Rprop"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C shrink = n[3], grow = n[4], smallest = n[5], largest = n[6];
    each([=]<class V>(V g, V& p, V& last, V& size) __attribute__((always_inline)) {
      const V zero(C(0)), one(C(1));
      g = n.gradient(g, p);
      const V same = g * last;
      const V factor = math::where_greater<V>(same, zero, grow, math::where_greater<V>(zero, same, shrink, one));
      // 0: this is the first update of the parameter, which may have been frozen until now
      const V before = math::where_greater<V>(size, zero, size, n.rate);
      size = math::smaller<V>(math::larger<V>(before * factor, smallest), largest);
      last = math::where_greater(zero, same, zero, g);
      // 0 and NaN are their own signs
      p = p - math::where_greater(last, zero, one, math::where_greater(zero, last, -one, last)) * size;
    });
  }
};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// s = s etas[1] where g has the sign of the last gradient, s etas[0] where it has the opposite sign, within
/// step_sizes; p = p - sign(g) s. Where the sign has changed, p stays, and 0 counts as the last gradient.
///
/// s is the learning rate in the first update of the parameter; later learning rates have no effect. g is the
/// gradient / loss_scale + weight_decay p. For gradients of the whole data set, not of small batches. Without groups,
/// weight decay skips parameters with beta or gamma in their names. A Model throws ValueError unless 0 < etas[0] < 1 <
/// etas[1] and 0 < step_sizes[0] <= step_sizes[1]. Source: Riedmiller and Braun 1993; MindSpore nn.Rprop.
struct Rprop {
  LearningRate learning_rate = 0.1;
  float etas[2]{0.5f, 1.2f};
  float step_sizes[2]{1e-6f, 50};
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "Rprop";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"prev", "step_size"};
  void check() const {
    check_inside_unit(name, "etas[0]", etas[0]);
    check_positive(name, "etas[1]", etas[1]);
    check_positive(name, "step_sizes[0]", step_sizes[0]);
    check_positive(name, "step_sizes[1]", step_sizes[1]);
    if (etas[1] <= 1) throw_error<ValueError>("Rprop: etas[1] must be above 1, or no step grows, got ", etas[1], ".");
    if (step_sizes[0] > step_sizes[1])
      throw_error<ValueError>("Rprop: step_sizes are the smallest and the largest, got ", step_sizes[0], " and ",
                              step_sizes[1], ".");
  }
  void numbers(long, Numbers& n) const {
    n.value[3] = etas[0];
    n.value[4] = etas[1];
    n.value[5] = step_sizes[0];
    n.value[6] = step_sizes[1];
  }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyRprop>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
