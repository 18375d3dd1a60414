// FTRL (follow the regularized leader): with l1, many parameters become exactly 0.
#pragma once
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/optim/update/lazy_rows.hpp>

namespace tenon::inline TENON_ABI {
namespace ops {

TENON_EXACT_BEGIN
/// One step of FTRL, in place. Operands: parameter, gradient, sum of squares, linear part, numbers.
struct ApplyFtrl : MomentUpdate<ApplyFtrl, "FTRL"> {
  template <auto config, class C>
  TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
    const C exponent = -n[3], l1 = n[4], l2 = n[5];
    const auto by = [=](auto power) {
      each([=]<class V>(V g, V& p, V& sum, V& linear) __attribute__((always_inline)) {
        g = n.gradient(g, p);
        const V before = power(sum);
        sum = sum + g * g;
        const V now = power(sum), curve = now / n.rate + V(C(2) * l2);
        linear = linear + g - (now - before) / n.rate * p;
        // the difference of what is within the limit with itself is 0, or NaN where it is NaN
        p = math::where_greater<V>(linear, l1, (l1 - linear) / curve,
                                   math::where_greater<V>(-l1, linear, (-l1 - linear) / curve, linear - linear));
      });
    };
    if (exponent == C(0.5)) by([](auto x) __attribute__((always_inline)) { return math::sqrt(x); });
    else by([=](auto x) __attribute__((always_inline)) { return math::pow(x, exponent); });
  }
};
/// The same in the rows of a table that were used.
struct ApplyFtrlRows : LazyUpdate<ApplyFtrlRows, "FTRLRows", ApplyFtrl> {};
TENON_EXACT_END
}  // namespace ops

namespace nn {

/// With q(a) = a^-lr_power / lr:  b = a + g²;  z = z + g - (q(b) - q(a)) p;  a = b;
/// p = (sign(z) l1 - z) / (q(a) + 2 l2) where |z| > l1, else 0.
///
/// Of the table of an nn::EmbeddingLookup it changes only the rows with a gradient other than 0.
/// a is initial_accum at first, and z is 0, so the initial value of a parameter is lost, as in MindSpore. MindSpore's
/// CPU kernel has the wrong sign of l1; this is the sign in the paper. g is the gradient / loss_scale + weight_decay p.
/// Without groups, weight decay skips parameters with beta or gamma in their names. A Model throws ValueError unless
/// lr_power is 0 or less, the other three are 0 or more, and the learning rate of each step is above 0. Source: McMahan
/// and others 2013; MindSpore nn.FTRL.
struct FTRL {
  float initial_accum = 0.1f;
  LearningRate learning_rate = 1e-3;
  float lr_power = -0.5f;
  float l1 = 0;
  float l2 = 0;
  float weight_decay = 0;
  float loss_scale = 1;
  ParameterGroups groups{};

  static constexpr std::string_view name = "FTRL";
  static constexpr int slots = 2;
  static constexpr std::string_view slot_names[2]{"moments", "linear"};
  void check() const {
    check_not_negative(name, "initial_accum", initial_accum);
    check_not_negative(name, "-lr_power", -lr_power);
    check_not_negative(name, "l1", l1);
    check_not_negative(name, "l2", l2);
  }
  void numbers(long, Numbers& n) const {
    check_positive(name, "learning_rate", n.learning_rate());
    n.value[3] = lr_power;
    n.value[4] = l1;
    n.value[5] = l2;
  }
  float initial(int slot) const { return slot == 0 ? initial_accum : 0; }
  template <class = void>
  static constexpr void update(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyFtrl>(NoConfig{}, parameter, gradient, slot[0], slot[1], numbers);
  }
  template <class = void>
  static constexpr void update_rows(Builder& b, int parameter, int gradient, const int* slot, int numbers) {
    b.call<ops::ApplyFtrlRows>(NoConfig{}, parameter, mark_unused_rows(b, gradient), slot[0], slot[1], numbers);
  }
};

}  // namespace nn
}  // namespace tenon
