// Momentum and SGD: the loops of their updates.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyMomentum;
struct ApplySgd;
}

namespace kernel {

/// One step of Momentum for `count` elements of the parameter, changed[0], and of its velocity, changed[1]. number:
/// learning rate, weight decay, what gradients are multiplied with, momentum.
template <>
struct UpdateLoop<ops::ApplyMomentum> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const C rate = C(number[0]), decay = C(number[1]), scale = C(number[2]), momentum = C(number[3]);
    const auto step = [=]<class V>(V g, V& p, V& v) __attribute__((always_inline)) {
      v = V(momentum) * v + g;
      if constexpr (config.use_nesterov != 0) p = p - (V(rate) * g + V(rate * momentum) * v);
      else p = p - V(rate) * v;
    };
    const auto decaying = [=]<class V>(V g, V& p, V& v)
                              __attribute__((always_inline)) { step(g * V(scale) + V(decay) * p, p, v); };
    // products are what an update waits for
    if (scale == 1 && decay == 0) update_elements(count, step, gradient, changed[0], changed[1]);
    else update_elements(count, decaying, gradient, changed[0], changed[1]);
  }
};

/// The same for SGD; number 4 is the gradient's share in the velocity, which is neither read nor written without
/// momentum.
template <>
struct UpdateLoop<ops::ApplySgd> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const C rate = C(number[0]), decay = C(number[1]), scale = C(number[2]), momentum = C(number[3]),
            share = C(number[4]);
    const auto plain = [=]<class V>(V g, V& p) { p = p - V(rate) * (g * V(scale) + V(decay) * p); };
    if (momentum == 0) return update_elements(count, plain, gradient, changed[0]);
    const auto step = [=]<class V>(V g, V& p, V& v) {
      g = g * V(scale) + V(decay) * p;
      v = V(momentum) * v + V(share) * g;
      if constexpr (config.nesterov != 0) p = p - V(rate) * (g + V(momentum) * v);
      else p = p - V(rate) * v;
    };
    update_elements(count, step, gradient, changed[0], changed[1]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
