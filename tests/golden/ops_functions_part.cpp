// Elementary functions of tenon/more.hpp, values and gradients, against MindSpore 2.10 (golden/ops).
#include "ops.hpp"

#include <tenon/ops/erf.hpp>
#include <tenon/ops/expm1.hpp>
#include <tenon/ops/fmod.hpp>
#include <tenon/ops/hyperbolic.hpp>
#include <tenon/ops/hypot.hpp>
#include <tenon/ops/log1p.hpp>
#include <tenon/ops/rounding.hpp>
#include <tenon/ops/trigonometric.hpp>
#include <tenon/ops/xlogy.hpp>

using namespace tenon;
using namespace support;

namespace {

const In<float, Shape<31>> activation{"x"};
const In<float, Shape<3, 5>> positive{"x"};

template <class F>
void check_binary(const std::string& op, F f) {
  check_case("bin_" + op + "_0", {}, f, In<float, Shape<2, 3, 4>>{"x"}, In<float, Shape<4>>{"y"});
  check_case("bin_" + op + "_1", {}, f, In<float, Shape<2, 1, 4>>{"x"}, In<float, Shape<3, 1>>{"y"});
}

}  // namespace

const Group more_functions("more functions", [] {
  check_case("act_sin", {}, [](const auto& x) { return sin(x); }, activation);
  check_case("act_cos", {}, [](const auto& x) { return cos(x); }, activation);
  check_case("act_atan", {}, [](const auto& x) { return atan(x); }, activation);
  check_case("act_sinh", {}, [](const auto& x) { return sinh(x * 0.25); }, activation);
  check_case("act_cosh", {}, [](const auto& x) { return cosh(x * 0.25); }, activation);
  check_case("act_expm1", {}, [](const auto& x) { return expm1(x * 0.25); }, activation);
  check_case("act_erf", {}, [](const auto& x) { return erf(x); }, activation);
  check_case("act_erfc", {}, [](const auto& x) { return erfc(x); }, activation);
  check_case("act_floor", {}, [](const auto& x) { return floor(x); }, activation);
  check_case("act_ceil", {}, [](const auto& x) { return ceil(x); }, activation);
  check_case("act_round", {}, [](const auto& x) { return round(x); }, activation);
  check_case("act_sign", {}, [](const auto& x) { return sign(x); }, activation);
  check_case("pos_asinh", {}, [](const auto& x) { return asinh(x); }, positive);
  check_case("pos_log1p", {}, [](const auto& x) { return log1p(x); }, positive);
  check_case("pos_log2", {}, [](const auto& x) { return log2(x); }, positive);
});

const Group more_binary("more operators of two operands", [] {
  check_binary("atan2", [](const auto& x, const auto& y) { return atan2(x, y); });
  check_binary("fmod", [](const auto& x, const auto& y) { return fmod(x, y); });
  check_binary("floor_mod", [](const auto& x, const auto& y) { return floor_mod(x, y); });
  check_binary("hypot", [](const auto& x, const auto& y) { return hypot(x, y); });
  check_binary("xlogy", [](const auto& x, const auto& y) { return xlogy(x, y); });
});
