// FTRL: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyFtrl;
}

namespace kernel {

namespace detail {
template <class C>
requires std::is_floating_point_v<C>
[[gnu::always_inline]] inline C power(C a, C exponent) {
  return math::pow(a, exponent);
}
template <class C, int Width>
[[gnu::always_inline]] inline Simd<C, Width> power(Simd<C, Width> a, C exponent) {
  for (int lane = 0; lane < Width; ++lane) a.lanes[lane] = math::pow(C(a.lanes[lane]), exponent);
  return a;
}
}  // namespace detail

/// One step of FTRL for `count` elements of the parameter, changed[0], of the sum of squares, and of the linear part.
/// number: the common three, lr_power, l1, l2.
template <>
struct UpdateLoop<ops::ApplyFtrl> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C exponent = -C(number[3]), l1 = C(number[4]), l2 = C(number[5]);
    const auto step = [=]<class V>(V g, V& p, V& sum, V& linear, auto power) __attribute__((always_inline)) {
      g = is.gradient(g, p);
      const V before = power(sum);
      sum = sum + g * g;
      const V now = power(sum);
      linear = linear + g - (now - before) / V(is.rate) * p;
      const V curve = now / V(is.rate) + V(C(2) * l2);
      // the difference of what is within the limit with itself is 0, or NaN where it is NaN
      p = choose_greater(linear, V(l1), (V(l1) - linear) / curve,
                         choose_greater(V(-l1), linear, (V(-l1) - linear) / curve, linear - linear));
    };
    const auto by_root = [=]<class V>(V g, V& p, V& sum, V& linear) __attribute__((always_inline)) {
      step(g, p, sum, linear, [](V x) __attribute__((always_inline)) { return square_root(x); });
    };
    const auto by_power = [=]<class V>(V g, V& p, V& sum, V& linear) __attribute__((always_inline)) {
      step(g, p, sum, linear, [=](V x) __attribute__((always_inline)) { return detail::power(x, exponent); });
    };
    if (exponent == C(0.5)) update_elements(count, by_root, gradient, changed[0], changed[1], changed[2]);
    else update_elements(count, by_power, gradient, changed[0], changed[1], changed[2]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
