// Chains of element-wise operators: PyNative mode, the fused graph, and the unfused graph give the same bits, in every
// dtype.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"

#include <tenon/ops/abs.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
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

bool all_finite(const auto& x) {
  for (auto element : x.values())
    if (!(static_cast<double>(element) - static_cast<double>(element) == 0)) return false;
  return true;
}
/// f on [n, 3] and [3] with n = 5, more than one vector of elements together with its tail.
template <class T, class F>
void check_chain(const F& f) {
  const auto outcome = both_modes(f, random_tensor<T, Shape<dyn, 3>>(21, -2, 2, 13), random_tensor<T, Shape<3>>(22));
  CHECK(all_finite(outcome.result));
  CHECK(all_finite(std::get<0>(outcome.gradient)));
  // two dead functions are equal too
  CHECK_FALSE(same_bits(std::get<0>(outcome.gradient), Tensor<T, Shape<dyn, 3>>::full(T(0), 13)));
}
template <class F>
void check_floating(const F& f) {
  check_chain<float>(f);
  check_chain<double>(f);
  check_chain<float16>(f);
  check_chain<bfloat16>(f);
}

}  // namespace

TEST_CASE("sums, products, quotients, exponentials") {
  check_floating(
      [](const auto& x, const auto& y) { return tanh(x * y - x) * sigmoid(y) + exp(-square(x)) / (1 + softplus(y)); });
}
TEST_CASE("activations and kinks") {
  check_floating([](const auto& x, const auto& y) {
    return maximum(x, y) + minimum(x, 0.5) * abs(y) - silu(x) + gelu(x + y) * gelu<ops::GeluForm::erf>(x) + relu(x);
  });
}
TEST_CASE("roots, logarithms, powers") {
  check_floating([](const auto& x, const auto& y) {
    return log(abs(x) + 0.5) + sqrt(square(y) + 1) * rsqrt(square(x) + 0.125) + pow(abs(x) + 0.25, y);
  });
}
TEST_CASE("comparisons and choices between the steps of a chain") {
  check_floating([](const auto& x, const auto& y) {
    return where(logical_or(x > y, logical_not(x < 1)), x * 2 + y, -y * x) - masked_fill(x, y == 0, 3);
  });
}
TEST_CASE("conversions inside a chain, with a gradient through them") {
  check_chain<float>([](const auto& x, const auto& y) {
    return cast<float>(cast<float16>(x * y) + 1) * cast<float>(cast<double>(x) / 3) + cast<float>(x > y) * x;
  });
  check_chain<double>([](const auto& x, const auto& y) { return cast<double>(cast<bfloat16>(x) * 2) + y * x; });
}
TEST_CASE("integers and bool") {
  const auto a = random_tensor<std::int32_t, Shape<dyn, 4>>(23, -50, 50, 9);
  const auto b = random_tensor<std::int32_t, Shape<4>>(24, -50, 50);
  both_modes([](const auto& x,
                const auto& y) { return abs(x * y - square(x)) + floor_div(x, y) * maximum(x, 3) - minimum(y, -x); },
             a, b);
  both_modes([](const auto& x, const auto& y) { return logical_xor(logical_and(x > y, x != 4), x == y); }, a, b);
  both_modes([](const auto& x, const auto& y) { return x * 2147483647 + y * 1103515245; }, a, b);
}
TEST_CASE("numbers in a chain are folded without changing a bit") {
  check_floating([](const auto& x, const auto& y) { return x * (2 * (y * 0 + 3)) + (1 - y) / 3; });
}
