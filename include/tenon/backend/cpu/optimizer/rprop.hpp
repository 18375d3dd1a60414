// Rprop: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyRprop;
}

namespace kernel {

/// One step of Rprop for `count` elements of the parameter, changed[0], the last gradient, and the size of a step.
/// number: the common three, what a size is multiplied with after a change of sign and without one, the smallest size,
/// the largest, 1 in the first step, whose size is the learning rate.
template <>
struct UpdateLoop<ops::ApplyRprop> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C shrink = C(number[3]), grow = C(number[4]), smallest = C(number[5]), largest = C(number[6]);
    const auto step = [=]<class V>(V g, V& p, V& last, V& size) __attribute__((always_inline)) {
      const V zero = V(C(0)), one = V(C(1));
      g = is.gradient(g, p);
      const V same = g * last;
      const V factor = choose_greater(same, zero, V(grow), choose_greater(zero, same, V(shrink), one));
      size = min(max(size * factor, V(smallest)), V(largest));
      last = choose_greater(zero, same, zero, g);
      // 0 and NaN are their own signs
      p = p - choose_greater(last, zero, one, choose_greater(zero, last, -one, last)) * size;
    };
    const auto first = [=]<class V>(V g, V& p, V& last, V& size) __attribute__((always_inline)) {
      size = V(is.rate);
      step(g, p, last, size);
    };
    if (number[7] != 0) update_elements(count, first, gradient, changed[0], changed[1], changed[2]);
    else update_elements(count, step, gradient, changed[0], changed[1], changed[2]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
