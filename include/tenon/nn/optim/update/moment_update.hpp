// Base of an optimizer's update of a parameter and its moments, element by element.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

TENON_EXACT_BEGIN
/// One step of an optimizer, in place. Operands: parameter, gradient, moments, numbers. 16-bit floats compute in float.
/// A custom `Op` gives `apply<T, config>(numbers, count, gradient, changed)`, which updates `count` elements:
/// changed[0] is the parameter, changed[1] and so on are the moments.
template <class Op, FixedString Name>
struct MomentUpdate : Operator<Op, Name> {
  static constexpr bool effect = true, update = true, updates_moments = true;
  static constexpr None derivative{};
  template <class Config>
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return in[0];
  }
};
TENON_EXACT_END

}  // namespace tenon::ops
