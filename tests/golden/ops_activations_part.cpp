// Activations of tenon/more.hpp, values and gradients, against MindSpore 2.10 (golden/ops).
#include "ops.hpp"

#include <tenon/ops/elu.hpp>
#include <tenon/ops/fast_gelu.hpp>
#include <tenon/ops/hardtanh.hpp>
#include <tenon/ops/leaky_relu.hpp>
#include <tenon/ops/log_sigmoid.hpp>
#include <tenon/ops/mish.hpp>
#include <tenon/ops/shrink.hpp>
#include <tenon/ops/softsign.hpp>

using namespace tenon;
using namespace support;

namespace {
const In<float, Shape<31>> activation{"x"};
}

const Group more_activations("more activations", [] {
  check_case("act_relu6", {}, [](const auto& x) { return relu6(x); }, activation);
  check_case("act_hardtanh", {}, [](const auto& x) { return hardtanh(x); }, activation);
  check_case("act_hsigmoid", {}, [](const auto& x) { return hsigmoid(x); }, activation);
  check_case("act_hswish", {}, [](const auto& x) { return hswish(x); }, activation);
  check_case("act_leaky_relu", {}, [](const auto& x) { return leaky_relu(x, 0.2); }, activation);
  check_case("act_elu", {}, [](const auto& x) { return elu(x); }, activation);
  check_case("act_celu", {}, [](const auto& x) { return celu(x); }, activation);
  check_case("act_selu", {}, [](const auto& x) { return selu(x); }, activation);
  check_case("act_mish", with_tanh, [](const auto& x) { return mish(x); }, activation);
  check_case("act_logsigmoid", {}, [](const auto& x) { return logsigmoid(x); }, activation);
  check_case("act_hardshrink", {}, [](const auto& x) { return hardshrink(x); }, activation);
  check_case("act_softshrink", {}, [](const auto& x) { return softshrink(x); }, activation);
  check_case("act_softsign", {}, [](const auto& x) { return softsign(x); }, activation);
  check_case("act_fastgelu", {}, [](const auto& x) { return fast_gelu(x); }, activation);
  check_case(
      "prelu", {}, [](const auto& x, const auto& w) { return prelu(x, w); }, In<float, Shape<2, 4, 3, 4>>{"x"},
      In<float, Shape<4>>{"param/a"});
});
