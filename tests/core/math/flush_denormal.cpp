// Denormal numbers and zeros of either sign through operators that hand them on, beside ones that flush them: a graph
// that fuses two gives the bits of one after the other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>
#include <limits>

#include <tenon/ops/abs.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/sub.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class T>
Tensor<T, Shape<36>> numbers() {
  constexpr T least = std::numeric_limits<T>::min();
  const T some[]{least / 8, -least / 8, 0, T(-0.0), 3, -3, least / 2, -least / 2, least, -least, least * 2, 1};
  auto x = Tensor<T, Shape<36>>::empty();
  for (int i = 0; i < 36; ++i) x.data()[i] = some[i % 12];
  return x;
}
/// One of eight operators: those that hand on come first.
template <int number>
constexpr auto one(const auto& x) {
  if constexpr (number == 0) return relu(x);
  else if constexpr (number == 1) return ops::abs(x);
  else if constexpr (number == 2) return ops::neg(x);
  else if constexpr (number == 3) return ops::maximum(x, ops::neg(x));
  else if constexpr (number == 4) return x * 1.0f;
  else if constexpr (number == 5) return x + 0.0f;
  else if constexpr (number == 6) return ops::minimum(x - 0.0f, x);
  else return x / 1.0f;
}
template <int number>
void check_pairs() {
  const auto check = [&]<class T, int... second>(T, std::integer_sequence<int, second...>) {
    (both_modes([](const auto& x) { return one<second>(one<number>(x)); }, numbers<T>()), ...);
  };
  check(float(), std::make_integer_sequence<int, 8>{});
}
}  // namespace

TEST_CASE("two operators, one after the other, fused and not: equal bits of denormal numbers") {
  check_pairs<0>(), check_pairs<1>(), check_pairs<2>(), check_pairs<3>();
  check_pairs<4>(), check_pairs<5>(), check_pairs<6>(), check_pairs<7>();
}

TEST_CASE("x * 1, x + 0, x - 0, and x / 1 flush a denormal number in both modes, and keep what is no denormal") {
  const auto x = numbers<float>();
  const auto check = [&](auto f, bool keeps_sign) {
    const auto y = both_modes(f, x).result;
    for (int i = 0; i < 36; ++i) {
      const float given = x.data()[i], expected = std::fpclassify(given) == FP_SUBNORMAL ? given * 0 : given;
      CHECK(y.data()[i] == expected);
      if (keeps_sign) CHECK(std::signbit(y.data()[i]) == std::signbit(given));
    }
  };
  check([](const auto& v) { return v * 1.0f; }, true);
  check([](const auto& v) { return 1.0f * v; }, true);
  check([](const auto& v) { return v - 0.0f; }, true);
  check([](const auto& v) { return v / 1.0f; }, true);
  check([](const auto& v) { return v + 0.0f; }, false);  // -0 + 0 is +0
  check([](const auto& v) { return 0.0f + v; }, false);
}
