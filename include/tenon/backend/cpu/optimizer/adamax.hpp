// AdaMax: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdamax;
}

namespace kernel {

/// One step of AdaMax for `count` elements of the parameter, changed[0], of the mean gradient, and of the largest one.
/// number: the common three, the rate corrected for the bias; beta1, beta2, eps.
template <>
struct UpdateLoop<ops::ApplyAdamax> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C beta1 = C(number[3]), beta2 = C(number[4]), epsilon = C(number[5]), rest = C(1) - beta1;
    const auto step = [=]<class V>(V g, V& p, V& m, V& largest) __attribute__((always_inline)) {
      g = is.gradient(g, p);
      m = V(beta1) * m + V(rest) * g;
      largest = max(V(beta2) * largest, max(g, -g));
      p = p - V(is.rate) * m / (largest + V(epsilon));
    };
    update_elements(count, step, gradient, changed[0], changed[1], changed[2]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
