// flags: -O0
// Special values through the element-wise operators of tenon/more.hpp, against PyTorch.
#include "special_values.hpp"

#include <tenon/more.hpp>

using namespace special_values;

const Group activations([] {
  run<V>("elu", [](const auto& x) { return elu(x); });
  run<V>("elu.celu", [](const auto& x) { return celu(x, 2); });
  run<V>("elu.selu", [](const auto& x) { return selu(x); });
  run<V>("fast_gelu", [](const auto& x) { return fast_gelu(x); });
  run<V>("hardtanh", [](const auto& x) { return hardtanh(x); });
  run<V>("hardtanh.relu6", [](const auto& x) { return relu6(x); });
  run<V>("hardtanh.hsigmoid", [](const auto& x) { return hsigmoid(x); });
  run<V>("hardtanh.hswish", [](const auto& x) { return hswish(x); });
  run<V>("leaky_relu", [](const auto& x) { return leaky_relu(x, 0.125); });
  run<V, Floats<1>>("leaky_relu.prelu", [](const auto& x, const auto& w) { return prelu(x, w); });
  run<V>("log_sigmoid", [](const auto& x) { return logsigmoid(x); });
  run<V>("mish", [](const auto& x) { return mish(x); });
  run<V>("shrink.hard", [](const auto& x) { return hardshrink(x); });
  run<V>("shrink.soft", [](const auto& x) { return softshrink(x); });
  run<V>("softsign", [](const auto& x) { return softsign(x); });
});

const Group functions([] {
  run<V>("rounding.floor", [](const auto& x) { return floor(x); });
  run<V>("rounding.ceil", [](const auto& x) { return ceil(x); });
  run<V>("rounding.round", [](const auto& x) { return round(x); });
  run<V>("rounding.trunc", [](const auto& x) { return trunc(x); });
  run<V>("rounding.sign", [](const auto& x) { return sign(x); });
  run<I>("rounding.sign.int32", [](const auto& x) { return sign(x); });
  run<V>("expm1", [](const auto& x) { return expm1(x); });
  run<V>("expm1.exp2", [](const auto& x) { return exp2(x); });
  run<V>("log1p", [](const auto& x) { return log1p(x); });
  run<V>("log1p.log2", [](const auto& x) { return log2(x); });
  run<V>("log1p.log10", [](const auto& x) { return log10(x); });
  run<V>("trigonometric.sin", [](const auto& x) { return sin(x); });
  run<V>("trigonometric.cos", [](const auto& x) { return cos(x); });
  run<V>("trigonometric.tan", [](const auto& x) { return tan(x); });
  run<V>("trigonometric.asin", [](const auto& x) { return asin(x); });
  run<V>("trigonometric.acos", [](const auto& x) { return acos(x); });
  run<V>("trigonometric.atan", [](const auto& x) { return atan(x); });
  run<V, V>("trigonometric.atan2", [](const auto& y, const auto& x) { return atan2(y, x); });
  run<V>("hyperbolic.sinh", [](const auto& x) { return sinh(x); });
  run<V>("hyperbolic.cosh", [](const auto& x) { return cosh(x); });
  run<V>("hyperbolic.asinh", [](const auto& x) { return asinh(x); });
  run<V>("hyperbolic.acosh", [](const auto& x) { return acosh(x); });
  run<V>("hyperbolic.atanh", [](const auto& x) { return atanh(x); });
  run<V>("erf", [](const auto& x) { return erf(x); });
  run<V>("erf.erfc", [](const auto& x) { return erfc(x); });
  run<V>("lgamma", [](const auto& x) { return lgamma(x); });
  run<V>("lgamma.digamma", [](const auto& x) { return digamma(x); });
  run<V, V>("fmod", [](const auto& a, const auto& b) { return fmod(a, b); });
  run<V, V>("fmod.floor_mod", [](const auto& a, const auto& b) { return floor_mod(a, b); });
  run<I, I>("fmod.int32", [](const auto& a, const auto& b) { return fmod(a, b); });
  run<I, I>("fmod.floor_mod.int32", [](const auto& a, const auto& b) { return floor_mod(a, b); });
  run<V, V>("hypot", [](const auto& a, const auto& b) { return hypot(a, b); });
  run<V, V>("xlogy", [](const auto& a, const auto& b) { return xlogy(a, b); });
});

const Group bits([] {
  run<I, I>("bitwise.and", [](const auto& a, const auto& b) { return bitwise_and(a, b); });
  run<I, I>("bitwise.or", [](const auto& a, const auto& b) { return bitwise_or(a, b); });
  run<I, I>("bitwise.xor", [](const auto& a, const auto& b) { return bitwise_xor(a, b); });
  run<I>("bitwise.not", [](const auto& a) { return bitwise_not(a); });
  run<I, I>("bitwise.left_shift", [](const auto& a, const auto& b) { return bitwise_left_shift(a, b); });
  run<I, I>("bitwise.right_shift", [](const auto& a, const auto& b) { return bitwise_right_shift(a, b); });
  run<I, I>("pow.int32", [](const auto& a, const auto& b) { return pow(a, b); });
});
