// flags: -O0
// Derivatives of the element-wise operators of tenon/more.hpp, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

const Group activations([] {
  unary("elu", [](const auto& x) { return elu(x); });
  unary("celu", [](const auto& x) { return celu(x, 2); });
  unary("selu", [](const auto& x) { return selu(x); });
  unary("fast_gelu", [](const auto& x) { return fast_gelu(x); });
  unary("hardtanh", [](const auto& x) { return hardtanh(x); });
  unary("relu6", [](const auto& x) { return relu6(x); });
  unary("hsigmoid", [](const auto& x) { return hsigmoid(x); });
  unary("hswish", [](const auto& x) { return hswish(x); });
  unary("leaky_relu", [](const auto& x) { return leaky_relu(x, 0.125); });
  check<D<dyn, 3>, D<3>>("prelu", [](const auto& x, const auto& w) { return prelu(x, w); });
  check<D<dyn, 3, 2>, D<1>>("prelu.one", [](const auto& x, const auto& w) { return prelu(x, w); });
  unary("logsigmoid", [](const auto& x) { return logsigmoid(x); });
  unary("mish", [](const auto& x) { return mish(x); });
  unary("hardshrink", [](const auto& x) { return hardshrink(x); });
  unary("softshrink", [](const auto& x) { return softshrink(x); });
  unary("softsign", [](const auto& x) { return softsign(x); });
});

const Group functions([] {
  unary("floor", [](const auto& x) { return floor(x); });
  unary("ceil", [](const auto& x) { return ceil(x); });
  unary("round", [](const auto& x) { return round(x); });
  unary("trunc", [](const auto& x) { return trunc(x); });
  unary("sign", [](const auto& x) { return sign(x); });
  unary("expm1", [](const auto& x) { return expm1(x); });
  unary("exp2", [](const auto& x) { return exp2(x); });
  unary("log1p", [](const auto& x) { return log1p(x); });
  unary("log2", [](const auto& x) { return log2(x); });
  unary("log10", [](const auto& x) { return log10(x); });
  unary("sin", [](const auto& x) { return sin(x); });
  unary("cos", [](const auto& x) { return cos(x); });
  unary("tan", [](const auto& x) { return tan(x); });
  unary("asin", [](const auto& x) { return asin(x); });
  unary("acos", [](const auto& x) { return acos(x); });
  unary("atan", [](const auto& x) { return atan(x); });
  unary("sinh", [](const auto& x) { return sinh(x); });
  unary("cosh", [](const auto& x) { return cosh(x); });
  unary("asinh", [](const auto& x) { return asinh(x); });
  unary("acosh", [](const auto& x) { return acosh(x); });
  unary("atanh", [](const auto& x) { return atanh(x); });
  unary("erf", [](const auto& x) { return erf(x); });
  unary("erfc", [](const auto& x) { return erfc(x); });
  unary("lgamma", [](const auto& x) { return lgamma(x); });
  unary<1>("digamma", [](const auto& x) { return digamma(x); });
});

const Group of_two([] {
  binary("atan2", [](const auto& a, const auto& b) { return atan2(a, b); });
  binary("fmod", [](const auto& a, const auto& b) { return fmod(a, b); });
  binary("floor_mod", [](const auto& a, const auto& b) { return floor_mod(a, b); });
  binary("hypot", [](const auto& a, const auto& b) { return hypot(a, b); });
  binary("xlogy", [](const auto& a, const auto& b) { return xlogy(a, b); });
});
