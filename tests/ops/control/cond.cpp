// cond: a choice of the whole batch, with the gradients of what ran.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "checked.hpp"

using namespace tenon;
using support::random_tensor;

TEST_CASE("cond: each side, its gradients, values from outside") {
  const auto w = random_tensor<float, Shape<3, 3>>(2, -1, 1);
  for (const float shift : {2.0f, -2.0f}) {
    const auto x = random_tensor<float, Shape<dyn, 3>>(1, shift - 1, shift + 1, 4);
    const auto y = control::checked(
        [](const auto& v, const auto& weight) {
          const auto twice = v + v;
          return cond(
              reduce_sum(v) > 0.0f, [&](auto a) { return tanh(matmul(a, weight)); }, [&](auto a) { return a * twice; },
              v);
        },
        x, w);
    const float first = x.values()[0];
    if (shift < 0) CHECK(y.result.values()[0] == first * (first + first));
    const auto& gradient = std::get<1>(y.gradient).values();
    CHECK((shift < 0) == (gradient[0] == 0 && gradient[4] == 0));
  }
}

TEST_CASE("cond: several results, inside of a loop and of another one") {
  const auto x = random_tensor<float, Shape<dyn, 6, 3>>(1, -1, 1, 4);
  const auto w = random_tensor<float, Shape<3, 3>>(2, -1, 1);
  control::checked(
      [](const auto& xs, const auto& weight) {
        return scan(
            [&](auto h, auto v) {
              const auto [a, b] = cond(
                  reduce_sum(v) > 0.0f, [&](auto s) { return std::tuple(tanh(matmul(s, weight)), s); },
                  [&](auto s) {
                    return std::tuple(s * 0.5f, cond(
                                                    reduce_sum(s) > 0.0f, [](auto t) { return t * t; },
                                                    [&](auto t) { return matmul(t, weight); }, s));
                  },
                  h + v);
              return a + b;
            },
            zeros<Shape<dyn, 3>>(xs), xs);
      },
      x, w);
}
