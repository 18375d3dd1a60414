// Element by element, with ONNX's broadcasting.
#pragma once
#include "axes.hpp"

namespace onnx {

template <class>
constexpr auto Abs(const auto& x) {
  return ops::abs(x);
}
template <class>
constexpr auto Add(const auto& a, const auto& b) {
  return ops::add(a, b);
}
template <class>
constexpr auto And(const auto& a, const auto& b) {
  constexpr List shape = broadcast_shape(shape_of(type<decltype(a)>), shape_of(type<decltype(b)>));
  return ops::logical_and(broadcast<shape>(a), broadcast<shape>(b));
}
template <class>
constexpr auto Or(const auto& a, const auto& b) {
  constexpr List shape = broadcast_shape(shape_of(type<decltype(a)>), shape_of(type<decltype(b)>));
  return ops::logical_or(broadcast<shape>(a), broadcast<shape>(b));
}
template <class>
constexpr auto Xor(const auto& a, const auto& b) {
  constexpr List shape = broadcast_shape(shape_of(type<decltype(a)>), shape_of(type<decltype(b)>));
  return ops::logical_xor(broadcast<shape>(a), broadcast<shape>(b));
}
template <class>
constexpr auto Div(const auto& a, const auto& b) {
  if constexpr (std::is_integral_v<Element<decltype(a)>>) {
    // ONNX divides whole numbers towards 0
    const auto quotient = ops::floor_div(ops::abs(a), ops::abs(b));
    if constexpr (std::is_unsigned_v<Element<decltype(a)>>) return quotient;
    else return ops::select(ops::logical_xor(a < 0, b < 0), ops::neg(quotient), quotient);
  } else return ops::div(a, b);
}
template <class>
constexpr auto Sub(const auto& a, const auto& b) {
  return ops::sub(a, b);
}
template <class>
constexpr auto Mul(const auto& a, const auto& b) {
  return ops::mul(a, b);
}
template <class>
constexpr auto Pow(const auto& a, const auto& b) {
  return ops::pow(a, ops::cast<Element<decltype(a)>>(b));
}
template <class>
constexpr auto Equal(const auto& a, const auto& b) {
  return ops::equal(a, b);
}
template <class>
constexpr auto Greater(const auto& a, const auto& b) {
  return ops::greater(a, b);
}
template <class>
constexpr auto GreaterOrEqual(const auto& a, const auto& b) {
  return ops::greater_equal(a, b);
}
template <class>
constexpr auto Less(const auto& a, const auto& b) {
  return ops::less(a, b);
}
template <class>
constexpr auto LessOrEqual(const auto& a, const auto& b) {
  return ops::less_equal(a, b);
}
template <class>
constexpr auto Exp(const auto& x) {
  return ops::exp(x);
}
template <class>
constexpr auto Log(const auto& x) {
  return ops::log(x);
}
template <class>
constexpr auto Sqrt(const auto& x) {
  return ops::sqrt(x);
}
template <class>
constexpr auto Tanh(const auto& x) {
  return ops::tanh(x);
}
template <class>
constexpr auto Sigmoid(const auto& x) {
  return ops::sigmoid(x);
}
template <class>
constexpr auto Reciprocal(const auto& x) {
  return ops::div(1, x);
}
template <class Node>
constexpr auto Gelu(const auto& x) {
  constexpr bool by_tanh = text<Node>("approximate", "none") == "tanh";
  return ops::gelu<by_tanh ? ops::GeluForm::tanh : ops::GeluForm::erf>(x);
}
template <class Node>
constexpr auto ThresholdedRelu(const auto& x) {
  return ops::select(x > float(number<Node>("alpha", 1)), x, 0);
}
template <class Node>
constexpr auto Clip(const auto& x) {
  return ops::identity(x);
}
template <class Node>
constexpr auto Clip(const auto& x, const auto& low, const auto& high) {
  if constexpr (is_absent<decltype(low)> && is_absent<decltype(high)>) return ops::identity(x);
  else if constexpr (is_absent<decltype(low)>) return ops::minimum(x, high);
  else if constexpr (is_absent<decltype(high)>) return ops::maximum(x, low);
  else return ops::minimum(ops::maximum(x, low), high);
}
template <class>
constexpr auto Max(const auto& x) {
  return ops::identity(x);
}
template <class Node>
constexpr auto Max(const auto& a, const auto& b, const auto&... more) {
  if constexpr (sizeof...(more) == 0) return ops::maximum(a, b);
  else return Max<Node>(ops::maximum(a, b), more...);
}
template <class>
constexpr auto Min(const auto& x) {
  return ops::identity(x);
}
template <class Node>
constexpr auto Min(const auto& a, const auto& b, const auto&... more) {
  if constexpr (sizeof...(more) == 0) return ops::minimum(a, b);
  else return Min<Node>(ops::minimum(a, b), more...);
}
template <class>
constexpr auto Sum(const auto& x) {
  return ops::identity(x);
}
template <class Node>
constexpr auto Sum(const auto& a, const auto& b, const auto&... more) {
  return Sum<Node>(ops::add(a, b), more...);
}
template <class Node>
constexpr auto Mean(const auto&... x) {
  return ops::mul(Sum<Node>(x...), 1.0f / float(sizeof...(x)));
}
template <class>
constexpr auto Where(const auto& condition, const auto& a, const auto& b) {
  return ops::select(condition, a, b);
}
template <class Node>
constexpr auto IsInf(const auto& x) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr bool negative = whole<Node>("detect_negative", 1) != 0, positive = whole<Node>("detect_positive", 1) != 0;
  if constexpr (positive && negative) return ops::equal(ops::abs(x), infinity);
  else return ops::equal(x, positive ? infinity : -infinity);
}
template <class Node>
constexpr auto Cast(const auto& x) {
  constexpr long to = whole<Node>("to", 1);
  if constexpr (to == 1) return ops::cast<float>(x);
  else if constexpr (to == 2) return ops::cast<std::uint8_t>(x);
  else if constexpr (to == 3) return ops::cast<std::int8_t>(x);
  else if constexpr (to == 6) return ops::cast<std::int32_t>(x);
  else if constexpr (to == 7) return ops::cast<std::int64_t>(x);
  else if constexpr (to == 9) return ops::cast<bool>(x);
  else if constexpr (to == 10) return ops::cast<tenon::float16>(x);
  else if constexpr (to == 11) return ops::cast<double>(x);
  else if constexpr (to == 16) return ops::cast<tenon::bfloat16>(x);
}

template <class>
constexpr auto Relu(const auto& x) {
  return ops::relu(x);
}
template <class>
constexpr auto Neg(const auto& x) {
  return ops::neg(x);
}
template <class>
constexpr auto Not(const auto& x) {
  return ops::logical_not(x);
}
template <class>
constexpr auto Identity(const auto& x) {
  return ops::identity(x);
}
template <class>
constexpr auto Softplus(const auto& x) {
  return ops::softplus(x);
}
template <class>
constexpr auto Softsign(const auto& x) {
  return ops::softsign(x);
}
template <class>
constexpr auto Mish(const auto& x) {
  return ops::mish(x);
}
template <class>
constexpr auto HardSwish(const auto& x) {
  return ops::hswish(x);
}
template <class Node>
constexpr auto Elu(const auto& x) {
  return ops::elu(x, number<Node>("alpha", 1));
}
template <class Node>
constexpr auto LeakyRelu(const auto& x) {
  return ops::leaky_relu(x, number<Node>("alpha", 0.01));
}
template <class>
constexpr auto PRelu(const auto& x, const auto& slope) {
  return ops::add(ops::maximum(x, 0), ops::mul(slope, ops::minimum(x, 0)));
}
/// Alpha and gamma are ONNX's own; without them they are those of ops::selu.
template <class Node>
constexpr auto Selu(const auto& x) {
  if constexpr (has<Node>("alpha") || has<Node>("gamma"))
    return ops::mul(ops::elu(x, number<Node>("alpha", 1.67326319217681884765625)),
                    float(number<Node>("gamma", 1.05070102214813232421875)));
  else return ops::selu(x);
}
template <class Node>
constexpr auto HardSigmoid(const auto& x) {
  const auto line = ops::add(ops::mul(x, float(number<Node>("alpha", 0.2))), float(number<Node>("beta", 0.5)));
  return ops::minimum(ops::maximum(line, 0), 1);
}
template <class Node>
constexpr auto Shrink(const auto& x) {
  constexpr float lambda = float(number<Node>("lambd", 0.5)), bias = float(number<Node>("bias", 0));
  return ops::select(x < -lambda, ops::add(x, bias), ops::select(x > lambda, ops::sub(x, bias), 0));
}

template <class>
constexpr auto Acos(const auto& x) {
  return ops::acos(x);
}
template <class>
constexpr auto Acosh(const auto& x) {
  return ops::acosh(x);
}
template <class>
constexpr auto Asin(const auto& x) {
  return ops::asin(x);
}
template <class>
constexpr auto Asinh(const auto& x) {
  return ops::asinh(x);
}
template <class>
constexpr auto Atan(const auto& x) {
  return ops::atan(x);
}
template <class>
constexpr auto Atanh(const auto& x) {
  return ops::atanh(x);
}
template <class>
constexpr auto Ceil(const auto& x) {
  return ops::ceil(x);
}
template <class>
constexpr auto Cos(const auto& x) {
  return ops::cos(x);
}
template <class>
constexpr auto Cosh(const auto& x) {
  return ops::cosh(x);
}
template <class>
constexpr auto Erf(const auto& x) {
  return ops::erf(x);
}
template <class>
constexpr auto Floor(const auto& x) {
  return ops::floor(x);
}
template <class>
constexpr auto Round(const auto& x) {
  return ops::round(x);
}
template <class>
constexpr auto Sign(const auto& x) {
  return ops::sign(x);
}
template <class>
constexpr auto Sin(const auto& x) {
  return ops::sin(x);
}
template <class>
constexpr auto Sinh(const auto& x) {
  return ops::sinh(x);
}
template <class>
constexpr auto Tan(const auto& x) {
  return ops::tan(x);
}
template <class>
constexpr auto IsNaN(const auto& x) {
  return ops::not_equal(x, x);
}
template <class Node>
constexpr auto Mod(const auto& a, const auto& b) {
  if constexpr (whole<Node>("fmod", 0) != 0) return ops::fmod(a, b);
  else return ops::floor_mod(a, b);
}

}  // namespace onnx
