// Adadelta: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAdadelta;
}

namespace kernel {

/// One step of Adadelta for `count` elements of the parameter, changed[0], of the mean square of gradients, and of that
/// of steps. number: the common three, rho, epsilon.
template <>
struct UpdateLoop<ops::ApplyAdadelta> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C keep = C(number[3]), epsilon = C(number[4]), rest = C(1) - keep;
    const auto step = [=]<class V>(V g, V& p, V& square, V& moved) __attribute__((always_inline)) {
      g = is.gradient(g, p);
      square = V(keep) * square + V(rest) * g * g;
      const V move = square_root(moved + V(epsilon)) / square_root(square + V(epsilon)) * g;
      moved = V(keep) * moved + V(rest) * move * move;
      p = p - V(is.rate) * move;
    };
    update_elements(count, step, gradient, changed[0], changed[1], changed[2]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
