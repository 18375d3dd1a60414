// scan: loops in construct, in graph and PyNative mode, with gradients, parameters, random numbers.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../../support/gradient_check.hpp"
#include "checked.hpp"

using namespace tenon;
using control::checked;
using support::random_tensor;
using support::same_bits;

TEST_CASE("scan: a decaying sum, and all of its values") {
  const auto h = random_tensor<float, Shape<dyn, 3>>(2, -1, 1, 4);
  const auto x = random_tensor<float, Shape<dyn, 5, 3>>(1, -1, 1, 4);
  const auto y = checked(
      [](const auto& first, const auto& xs) {
        const auto [last, all] = scan(
            [](auto s, auto v) {
              auto t = s * 0.5f + v;
              return std::tuple(t, t * 2.0f);
            },
            first, xs);
        return all + reshape<Shape<dyn, 1, 3>>(last);
      },
      h, x);
  for (long i = 0; i < 4; ++i)
    for (long k = 0; k < 3; ++k) {
      float sum = h.values()[std::size_t(i * 3 + k)], all[5];
      for (long t = 0; t < 5; ++t) {
        sum = sum * 0.5f + x.values()[std::size_t((i * 5 + t) * 3 + k)];
        all[t] = sum * 2;
      }
      for (long t = 0; t < 5; ++t) CHECK(y.result.values()[std::size_t((i * 5 + t) * 3 + k)] == all[t] + sum);
    }
}

TEST_CASE("scan: values from outside, with and without a batch; several values carried; no results of turns") {
  const auto x = random_tensor<float, Shape<dyn, 4, 2>>(1, -1, 1, 3);
  const auto w = random_tensor<float, Shape<2, 2>>(2, -1, 1);
  const auto u = random_tensor<float, Shape<dyn, 2>>(3, -1, 1, 3);
  checked(
      [](const auto& xs, const auto& weight, const auto& scale) {
        const auto twice = scale + scale;
        const auto [a, b] = scan(
            [&](auto carried, auto v) {
              const auto [p, q] = carried;
              return std::tuple(tanh(matmul(q, weight) + v), p * twice);
            },
            std::tuple(scale, twice), xs);
        return a * b + matmul(twice, weight);
      },
      x, w, u);
}

TEST_CASE("scan: gradients against central differences") {
  const auto x = random_tensor<double, Shape<dyn, 4, 2>>(1, -1, 1, 3);
  const auto w = random_tensor<double, Shape<2, 2>>(2, -1, 1);
  const auto steps = random_tensor<double, Shape<4>>(3, -1, 1);
  support::check_gradients(
      [](const auto& xs, const auto& weight, const auto& ts) {
        const auto f = [](const auto& a, const auto& b, const auto& c) {
          const auto first = reshape<Shape<dyn, 2>>(slice<1, Part{0, 1}>(a));
          const auto [last, ys] = scan(
              [&](auto h, auto slices) {
                const auto [v, t] = slices;
                const auto next = tanh(matmul(h, b) + v * t);
                return std::tuple(next, next * next);
              },
              first, std::tuple(a, c));
          return ys * reshape<Shape<dyn, 1, 2>>(last);
        };
        return f(xs, weight, ts);
      },
      x, w, steps);
  checked(
      [](const auto& a, const auto& b, const auto& c) {
        const auto first = reshape<Shape<dyn, 2>>(slice<1, Part{0, 1}>(a));
        const auto [last, ys] = scan(
            [&](auto h, auto slices) {
              const auto [v, t] = slices;
              const auto next = tanh(matmul(h, b) + v * t);
              return std::tuple(next, next * next);
            },
            first, std::tuple(a, c));
        return ys * reshape<Shape<dyn, 1, 2>>(last);
      },
      x, w, steps);
}

TEST_CASE("scan: 1,000 turns") {
  const auto x = random_tensor<float, Shape<dyn, 1000, 2>>(1, -1, 1, 3);
  const auto w = random_tensor<float, Shape<2, 2>>(2, -1, 1);
  checked(
      [](const auto& xs, const auto& weight) {
        return scan([&](auto h, auto v) { return tanh(matmul(h, weight) + v); }, zeros<Shape<dyn, 2>>(xs), xs);
      },
      x, w);
}

TEST_CASE("scan inside of scan; map") {
  const auto x = random_tensor<float, Shape<dyn, 3, 4, 2>>(1, -1, 1, 3);
  const auto w = random_tensor<float, Shape<2, 2>>(2, -1, 1);
  checked(
      [](const auto& xs, const auto& weight) {
        const auto rows = map([&](auto row) { return tanh(matmul(row, weight)); }, xs);
        return scan(
            [&](auto h, auto row) { return scan([&](auto s, auto v) { return tanh(matmul(s, weight) + v); }, h, row); },
            zeros<Shape<dyn, 2>>(xs), rows);
      },
      x, w);
}

TEST_CASE("scan: whole numbers are carried, returned, and used beside others") {
  const auto x = support::tensor_of<std::int32_t, Shape<dyn, 3>>({1, 2, 3, -4, 5, 6});
  const auto f = [](const auto& xs) {
    const auto [last, all] = scan(
        [](auto s, auto v) {
          auto t = s + v;
          return std::tuple(t, t * 2);
        },
        zeros<Shape<dyn>>(xs), xs);
    return all + reshape<Shape<dyn, 1>>(last);
  };
  CHECK(same_bits(checked(f, x).result, support::tensor_of<std::int32_t, Shape<dyn, 3>>({8, 12, 18, -1, 9, 21})));
}
