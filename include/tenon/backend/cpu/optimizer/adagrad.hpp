// Adagrad and ProximalAdagrad: the loops of their updates.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdagrad;
struct ApplyProximalAdagrad;
}

namespace kernel {

/// One step of Adagrad for `count` elements of the parameter, changed[0], and of its sum of squares. number: the common
/// three, 1 if the sum grows or 0 if it stays.
template <>
struct UpdateLoop<ops::ApplyAdagrad> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C share = C(number[3]);
    const auto step = [=]<class V>(V g, V& p, V& sum) __attribute__((always_inline)) {
      g = is.gradient(g, p);
      sum = sum + V(share) * g * g;
      p = p - V(is.rate) * g / square_root(sum);
    };
    update_elements(count, step, gradient, changed[0], changed[1]);
  }
};

/// The same for ProximalAdagrad, which then draws the parameter to 0. number: the common three, l1, l2.
template <>
struct UpdateLoop<ops::ApplyProximalAdagrad> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C l1 = C(number[3]), l2 = C(number[4]);
    const auto step = [=]<class V>(V g, V& p, V& sum) __attribute__((always_inline)) {
      g = is.gradient(g, p);
      sum = sum + g * g;
      const V rate = V(is.rate) / square_root(sum), limit = rate * V(l1), moved = p - rate * g;
      // the difference of what is within the limit with itself is 0, or NaN where it is NaN
      const V drawn =
          choose_greater(moved, limit, moved - limit, choose_greater(-limit, moved, moved + limit, moved - moved));
      p = drawn / (V(C(1)) + rate * V(l2));
    };
    update_elements(count, step, gradient, changed[0], changed[1]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
