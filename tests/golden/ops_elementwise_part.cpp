// Element-wise operators, values and gradients, against MindSpore 2.10 (golden/ops).
#include "ops.hpp"

#include <tenon/ops/abs.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/floor_div.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/logical.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/silu.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/sqrt.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/tanh.hpp>

using namespace tenon;
using namespace support;

namespace {

const In<float, Shape<31>> activation{"x"};
const In<float, Shape<3, 5>> positive{"x"};

/// Both forms of broadcasting: [2,3,4] with [4], and [2,1,4] with [3,1].
template <class F>
void check_binary(const std::string& op, F f) {
  check_case("bin_" + op + "_0", {}, f, In<float, Shape<2, 3, 4>>{"x"}, In<float, Shape<4>>{"y"});
  check_case("bin_" + op + "_1", {}, f, In<float, Shape<2, 1, 4>>{"x"}, In<float, Shape<3, 1>>{"y"});
}
template <class T, class F>
void check_integers(const std::string& name, F f) {
  check_case(name, {}, f, In<T, Shape<12>>{"x"}, In<T, Shape<12>>{"y"});
}

}  // namespace

const Group activations("activations", [] {
  check_case("act_relu", {}, [](const auto& x) { return relu(x); }, activation);
  check_case("act_sigmoid", {}, [](const auto& x) { return sigmoid(x); }, activation);
  check_case("act_tanh", with_tanh, [](const auto& x) { return tanh(x); }, activation);
  check_case("act_gelu_tanh", with_tanh, [](const auto& x) { return gelu(x); }, activation);
  check_case("act_gelu_erf", {}, [](const auto& x) { return gelu<ops::GeluForm::erf>(x); }, activation);
  check_case("act_silu", {}, [](const auto& x) { return silu(x); }, activation);
  check_case("act_softplus", {}, [](const auto& x) { return softplus(x); }, activation);
});

const Group functions("elementary functions", [] {
  check_case("act_exp", {}, [](const auto& x) { return exp(x * 0.25); }, activation);
  check_case("act_abs", {}, [](const auto& x) { return abs(x); }, activation);
  check_case("act_neg", {}, [](const auto& x) { return -x; }, activation);
  check_case("act_square", {}, [](const auto& x) { return square(x); }, activation);
  check_case("pos_log", {}, [](const auto& x) { return log(x); }, positive);
  check_case("pos_sqrt", {}, [](const auto& x) { return sqrt(x); }, positive);
  check_case("pos_rsqrt", {}, [](const auto& x) { return rsqrt(x); }, positive);
  check_case("pos_reciprocal", {}, [](const auto& x) { return 1 / x; }, positive);
});

const Group binary("two operands with broadcasting", [] {
  check_binary("add", [](const auto& x, const auto& y) { return x + y; });
  check_binary("sub", [](const auto& x, const auto& y) { return x - y; });
  check_binary("mul", [](const auto& x, const auto& y) { return x * y; });
  check_binary("div", [](const auto& x, const auto& y) { return x / y; });
  check_binary("pow", [](const auto& x, const auto& y) { return pow(x, y); });
  check_binary("maximum", [](const auto& x, const auto& y) { return maximum(x, y); });
  check_binary("minimum", [](const auto& x, const auto& y) { return minimum(x, y); });
  check_binary("floor_div", [](const auto& x, const auto& y) { return floor_div(x, y); });
  check_binary("squared_difference", [](const auto& x, const auto& y) { return square(x - y); });
});

const Group comparisons("comparisons, logic, choice", [] {
  const In<float, Shape<3, 4>> x{"x"};
  const In<float, Shape<4>> y{"y"};
  check_case("cmp_equal", {}, [](const auto& a, const auto& b) { return a == b; }, x, y);
  check_case("cmp_not_equal", {}, [](const auto& a, const auto& b) { return a != b; }, x, y);
  check_case("cmp_less", {}, [](const auto& a, const auto& b) { return a < b; }, x, y);
  check_case("cmp_less_equal", {}, [](const auto& a, const auto& b) { return a <= b; }, x, y);
  check_case("cmp_greater", {}, [](const auto& a, const auto& b) { return a > b; }, x, y);
  check_case("cmp_greater_equal", {}, [](const auto& a, const auto& b) { return a >= b; }, x, y);
  const In<bool, Shape<3, 4>> p{"x"};
  const In<bool, Shape<4>> q{"y"};
  check_case("logical_and", {}, [](const auto& a, const auto& b) { return logical_and(a, b); }, p, q);
  check_case("logical_or", {}, [](const auto& a, const auto& b) { return logical_or(a, b); }, p, q);
  check_case("logical_xor", {}, [](const auto& a, const auto& b) { return logical_xor(a, b); }, p, q);
  check_case(
      "where", {}, [](const auto& c, const auto& a, const auto& b) { return where(c, a, b); },
      In<bool, Shape<3, 4>>{"cond"}, x, y);
  check_case(
      "masked_fill", {}, [](const auto& a, const auto& mask) { return masked_fill(a, mask, -1.0); }, x,
      In<bool, Shape<3, 4>>{"mask"});
});

const Group integers("integers wrap around, and floor_div rounds down", [] {
  const auto sum = [](const auto& x, const auto& y) { return x + y; };
  check_integers<std::int8_t>("intadd_int8", sum);
  check_integers<std::uint8_t>("intadd_uint8", sum);
  check_integers<std::int32_t>("intadd_int32", sum);
  check_integers<std::int64_t>("intadd_int64", sum);
  const auto quotient = [](const auto& x, const auto& y) { return floor_div(x, y); };
  check_integers<std::int8_t>("intdiv_int8", quotient);
  check_integers<std::uint8_t>("intdiv_uint8", quotient);
  check_integers<std::int32_t>("intdiv_int32", quotient);
  check_integers<std::int64_t>("intdiv_int64", quotient);
});
