// Base of an optimizer's update, which is written once, as a function of one element, for all targets.
#pragma once
#include <tenon/core/math/elementary.hpp>
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
/// The numbers of an update, as elements that are computed in C use them: those that every optimizer has, by name, and
/// all of them by their index in nn::Numbers.
template <class C>
struct UpdateNumbers {
  const float* number;
  C rate, decay, scale;

  TENON_DEVICE UpdateNumbers(const float* n) : number(n), rate(n[0]), decay(n[1]), scale(n[2]) {}
  TENON_DEVICE C operator[](int i) const { return C(number[i]); }
  /// What most optimizers see of a gradient: divided by the loss scale, with the decay of parameter p.
  template <class V>
  [[gnu::always_inline]] TENON_DEVICE V gradient(V g, V p) const {
    return g * scale + decay * p;
  }
};

/// One step of an optimizer, in place. Operands: parameter, gradient, moments, numbers. `Op` defines how one element
/// changes; the kernels of all targets call this definition (Momentum, shortened):
///
///     template <auto config, class C>
///     TENON_DEVICE static void step(UpdateNumbers<C> n, auto each) {
///       const C momentum = n[3];
///       each([=]<class V>(V g, V& p, V& v) __attribute__((always_inline)) {
///         v = momentum * v + n.gradient(g, p);
///         p = p - n.rate * v;
///       });
///     }
///
/// C is float or double. V is C, or a Simd of C: several elements at once; math::sqrt, math::larger, math::smaller, and
/// math::where_greater take both. Elements of 16 bits are computed in float and rounded once, when the function has
/// returned. `step` calls `each` exactly once, but may choose between functions by the numbers. A function that does
/// not have the last moments neither reads nor writes them.
template <class Op, FixedString Name>
struct MomentUpdate : Operator<Op, Name> {
  static constexpr bool effect = true, update = true, updates_elements = true;
  static constexpr None derivative{};
  template <class Config>
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return in[0];
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
