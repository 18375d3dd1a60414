// RMSProp: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyRmsprop;
}

namespace kernel {

/// One step of RMSProp for `count` elements of the parameter, changed[0], of the mean square, the step, and, if
/// centered, the mean gradient. number: the common three, decay, momentum, epsilon.
template <>
struct UpdateLoop<ops::ApplyRmsprop> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C keep = C(number[3]), momentum = C(number[4]), epsilon = C(number[5]), rest = C(1) - keep;
    const auto move = [=]<class V>(V g, V spread, V& p, V& m) __attribute__((always_inline)) {
      m = V(momentum) * m + V(is.rate) * g / square_root(spread + V(epsilon));
      p = p - m;
    };
    if constexpr (config.centered != 0) {
      const auto step = [=]<class V>(V g, V& p, V& s, V& m, V& mean) __attribute__((always_inline)) {
        g = is.gradient(g, p);
        s = V(keep) * s + V(rest) * g * g;
        mean = V(keep) * mean + V(rest) * g;
        move(g, max(s - mean * mean, V(C(0))), p, m);  // rounding takes it below 0 where gradients hardly change
      };
      update_elements(count, step, gradient, changed[0], changed[1], changed[2], changed[3]);
    } else {
      const auto step = [=]<class V>(V g, V& p, V& s, V& m) __attribute__((always_inline)) {
        g = is.gradient(g, p);
        s = V(keep) * s + V(rest) * g * g;
        move(g, s, p, m);
      };
      update_elements(count, step, gradient, changed[0], changed[1], changed[2]);
    }
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
