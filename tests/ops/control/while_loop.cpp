// while_loop: Newton's iteration, gradients with a bound, no turn, many turns.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include <cmath>

#include "checked.hpp"

using namespace tenon;
using support::random_tensor;

namespace {
/// f(x) as a graph and operator by operator, without gradients.
template <class F, class X>
auto both(const F& f, const X& x) {
  const auto eager = f(x), graph = jit(f)(x);
  CHECK(support::same_bits(eager, graph));
  return graph;
}
}  // namespace

TEST_CASE("while_loop: Newton's iteration for square roots") {
  const auto a = random_tensor<float, Shape<dyn, 3>>(1, 1, 100, 4);
  const auto root = both(
      [](const auto& x) {
        return while_loop([&](auto y) { return reduce_max(abs(y * y - x) / x) > 1e-6f; },
                          [&](auto y) { return (y + x / y) * 0.5f; }, x);
      },
      a);
  for (std::size_t i = 0; i < 12; ++i) CHECK(root.values()[i] == doctest::Approx(std::sqrt(a.values()[i])));
}

TEST_CASE("while_loop: several values; 1,000 turns; no turn") {
  const auto x = support::tensor_of<float, Shape<>>({3});
  const auto counted = [](const auto& v) {
    const auto [sum, k] = while_loop([](auto, auto n) { return n < 1000.0f; },
                                     [](auto s, auto n) { return std::tuple(s + n, n + 1.0f); }, v, v * 0.0f);
    return sum + k;
  };
  CHECK(both(counted, x).item() == 3 + 499500 + 1000);
  CHECK(
      both(
          [](const auto& v) { return while_loop([](auto y) { return y < 0.0f; }, [](auto y) { return y * 2.0f; }, v); },
          x)
          .item() == 3);
}

TEST_CASE("while_loop: gradients with a bound: the turns that were, none, and as many as there may be") {
  const auto w = random_tensor<float, Shape<3, 3>>(2, -0.5, 0.5);
  for (const float scale : {1.0f, 0.01f, 50.0f}) {
    const auto x = random_tensor<float, Shape<dyn, 3>>(1, 0.2f * scale, scale, 4);
    control::checked(
        [](const auto& v, const auto& weight) {
          return while_loop<6>([](auto y) { return reduce_max(abs(y)) > 0.05f; },
                               [&](auto y) { return tanh(matmul(y, weight)) * 0.5f; }, v);
        },
        x, w);
  }
}

TEST_CASE("while_loop in a condition and in a scan: each has turns of its own") {
  const auto x = random_tensor<float, Shape<dyn, 3, 2>>(1, 0.2f, 1, 4);
  const auto w = random_tensor<float, Shape<2, 2>>(2, -0.5, 0.5);
  for (const float first : {0.3f, -0.3f}) {
    CAPTURE(first);
    const auto start = support::tensor_of<float, Shape<2>>({first, 0.25f});
    control::checked(
        [](const auto& all, const auto& weight, const auto& init) {
          return scan(
              [&](auto h, auto v) {
                return cond(
                    reduce_sum(h) > 0.2f,
                    [&](auto u) {
                      const auto [y, size] = while_loop<5>(
                          [](auto, auto s) { return s > 0.3f; },
                          [&](auto y, auto s) { return std::tuple(tanh(matmul(y, weight) + v), s * 0.5f); }, u,
                          reduce_max(abs(u)) * 2.0f);
                      return y + size;
                    },
                    [&](auto u) { return u * 0.5f + v; }, h);
              },
              zeros<Shape<dyn, 2>>(all) + init, all);
        },
        x, w, start);
  }
}

#if defined(TENON_TARGET)
TEST_CASE("while_loop on a GPU needs the most turns in a graph") {
  const auto x = support::tensor_of<float, Shape<>>({3});
  const auto halved = jit(
      [](const auto& v) { return while_loop([](auto y) { return y > 1.0f; }, [](auto y) { return y * 0.5f; }, v); });
  const auto bounded = jit(
      [](const auto& v) { return while_loop<9>([](auto y) { return y > 1.0f; }, [](auto y) { return y * 0.5f; }, v); });
  const ContextScope scope({.device_target = OtherTarget::name});
  for (const int again : {0, 1, 2}) {  // a step that comes again is replayed
    CAPTURE(again);
    CHECK(bounded(x).item() == 0.75f);
  }
  if (OtherTarget::name == "GPU")
    CHECK_THROWS_WITH_AS(halved(x).item(), doctest::Contains("Give it the most turns: while_loop<100>"), RuntimeError);
  else CHECK(halved(x).item() == 0.75f);
}
#endif
