// Element-wise operators that ONNX does not have, or has with other special values: remainders, quotients of whole
// numbers, shrinkage, lengths, angles.
#pragma once
#include <tenon/more.hpp>
#include <tenon/onnx/node_export.hpp>

namespace tenon::inline TENON_ABI::onnx {

namespace rules {
inline std::string zero(NodeExport& call) { return call.number(0, call.type(0).dtype); }
inline std::string is_negative(NodeExport& call, const std::string& x) { return call.make("Less", {x, zero(call)}); }
inline std::string is_zero(NodeExport& call, const std::string& x) { return call.make("Equal", {x, zero(call)}); }
inline std::string negated(NodeExport& call, const std::string& condition) { return call.make("Not", {condition}); }

/// A divisor of whole numbers without 0 and -1, for which processors stop programs; x mod 1 is x mod -1.
inline std::string safe_divisor(NodeExport& call, const std::string& b) {
  const Dtype dtype = call.type(1).dtype;
  const std::string stops = call.make("Or", {is_zero(call, b), call.make("Equal", {b, call.number(-1, dtype)})});
  return call.make("Where", {stops, call.number(1, dtype), b});
}
inline void fmod(NodeExport& call) {
  const bool is_whole = !is_floating(call.type(0).dtype);
  call.give("Mod", {call.input(0), is_whole ? safe_divisor(call, call.input(1)) : call.input(1)}, {{"fmod", 1}});
}
/// Where a rest and the divisor have different signs.
inline std::string differ(NodeExport& call, const std::string& rest, const std::string& b) {
  const std::string signs = call.make("Xor", {is_negative(call, rest), is_negative(call, b)});
  return call.make("And", {negated(call, is_zero(call, rest)), signs});
}
/// ONNX has this remainder for whole numbers alone.
inline void floor_mod(NodeExport& call) {
  const std::string &a = call.input(0), &b = call.input(1);
  if (!is_floating(call.type(0).dtype)) return call.give("Mod", {a, safe_divisor(call, b)}, {{"fmod", 0}});
  const std::string rest = call.make("Mod", {a, b}, {{"fmod", 1}});
  call.give("Where", {differ(call, rest, b), call.make("Add", {rest, b}), rest});
}
/// The quotient of whole numbers is rounded towards zero in ONNX.
inline void floor_div(NodeExport& call) {
  const std::string &a = call.input(0), &b = call.input(1);
  const Dtype dtype = call.type(0).dtype;
  if (is_floating(dtype)) return call.give("Floor", {call.make("Div", {a, b})});
  const std::string divisor = safe_divisor(call, b), quotient = call.make("Div", {a, divisor});
  const std::string rest = call.make("Sub", {a, call.make("Mul", {quotient, divisor})});
  const std::string below = call.make("Sub", {quotient, call.number(1, dtype)});
  const std::string rounded = call.make("Where", {differ(call, rest, divisor), below, quotient});
  const std::string by_minus_one = call.make("Equal", {b, call.number(-1, dtype)});
  const std::string chosen = call.make("Where", {by_minus_one, call.make("Sub", {zero(call), a}), rounded});
  call.give("Where", {is_zero(call, b), zero(call), chosen});
}
/// A negative zero stays one: ONNX Runtime's Where keeps its sign only in the third operand.
inline void trunc(NodeExport& call) {
  const std::string& x = call.input(0);
  const std::string is_above = call.make("Greater", {x, zero(call)});
  call.give("Where", {is_above, call.make("Floor", {x}), call.make("Ceil", {x})});
}
/// Shrink of ONNX makes 0 of a NaN.
inline void hardshrink(NodeExport& call) {
  const std::string &x = call.input(0), &lambda = call.input(1);
  const std::string least = call.make("Neg", {lambda});
  const std::string inside =
      call.make("And", {call.make("LessOrEqual", {x, lambda}), call.make("GreaterOrEqual", {x, least})});
  call.give("Where", {inside, zero(call), x});
}
inline void softshrink(NodeExport& call) {
  const std::string &x = call.input(0), &lambda = call.input(1);
  const std::string least = call.make("Neg", {lambda});
  const std::string inside = call.make("Where", {call.make("Equal", {x, x}), zero(call), x});  // NaN stays
  const std::string below = call.make("Where", {call.make("Less", {x, least}), call.make("Add", {x, lambda}), inside});
  call.give("Where", {call.make("Greater", {x, lambda}), call.make("Sub", {x, lambda}), below});
}
/// large sqrt(1 + (small / large)^2): without overflow in between
inline void hypot(NodeExport& call) {
  const Dtype dtype = call.type(0).dtype;
  const std::string a = call.make("Abs", {call.input(0)}), b = call.make("Abs", {call.input(1)});
  const std::string large = call.make("Max", {a, b}), infinity = call.number(__builtin_inf(), dtype);
  const std::string divisor = call.make("Where", {is_zero(call, large), call.number(1, dtype), large});
  const std::string ratio = call.make("Div", {call.make("Min", {a, b}), divisor});
  const std::string sum = call.make("Add", {call.make("Mul", {ratio, ratio}), call.number(1, dtype)});
  const std::string length = call.make("Mul", {large, call.make("Sqrt", {sum})});
  const std::string is_infinite =
      call.make("Or", {call.make("Equal", {a, infinity}), call.make("Equal", {b, infinity})});
  call.give("Where", {is_infinite, infinity, length});
}
inline void xlogy(NodeExport& call) {
  const std::string &x = call.input(0), &y = call.input(1);
  const std::string vanishes = call.make("And", {is_zero(call, x), call.make("Equal", {y, y})});
  call.give("Where", {vanishes, zero(call), call.make("Mul", {x, call.make("Log", {y})})});
}
/// Below zero, or the negative zero.
inline std::string has_minus(NodeExport& call, const std::string& x) {
  const std::string inverse = call.make("Div", {call.number(1, call.type(0).dtype), x});
  return call.make("Or", {is_negative(call, x), is_negative(call, inverse)});
}
/// The arc tangent of y / x, half a turn further where x has a minus. Two zeros and two infinities have no quotient.
inline void atan2(NodeExport& call) {
  const Dtype dtype = call.type(0).dtype;
  const std::string &y = call.input(0), &x = call.input(1);
  const auto number = [&](double value) { return call.number(value, dtype); };
  const auto is_infinite = [&](const std::string& v) {
    return call.make("Equal", {call.make("Abs", {v}), number(__builtin_inf())});
  };
  const std::string zeros = call.make("And", {is_zero(call, y), is_zero(call, x)});
  const std::string infinities = call.make("And", {is_infinite(y), is_infinite(x)});
  const std::string apart = call.make("Xor", {is_negative(call, y), is_negative(call, x)});
  const std::string one = call.make("Where", {apart, number(-1), number(1)});
  const std::string divided = call.make("Div", {y, call.make("Where", {zeros, number(1), x})});
  const std::string angle = call.make("Atan", {call.make("Where", {infinities, one, divided})});
  constexpr double pi = 3.14159265358979323846;
  const std::string turn = call.make("Where", {has_minus(call, y), number(-pi), number(pi)});
  // of two zeros, the quotient has the wrong sign beside a minus: the turn alone is right
  const std::string beyond = call.make("Where", {zeros, turn, call.make("Add", {angle, turn})});
  call.give("Where", {has_minus(call, x), beyond, angle});
}
}  // namespace rules

inline constexpr Rule arithmetic_rules[]{
    {operator_id<ops::Atan2>, rules::atan2},           {operator_id<ops::FloorDiv>, rules::floor_div},
    {operator_id<ops::FloorMod>, rules::floor_mod},    {operator_id<ops::Fmod>, rules::fmod},
    {operator_id<ops::Hardshrink>, rules::hardshrink}, {operator_id<ops::Hypot>, rules::hypot},
    {operator_id<ops::Softshrink>, rules::softshrink}, {operator_id<ops::Trunc>, rules::trunc},
    {operator_id<ops::Xlogy>, rules::xlogy},
};

}  // namespace tenon::onnx
