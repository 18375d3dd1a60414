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
