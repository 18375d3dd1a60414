#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/jit.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor, support::same_bits;

namespace {
using Batch = Tensor<float, Shape<dyn, 5>>;
constexpr auto formula = [](auto x, auto y) { return relu(x * y + x) * 0.3f + y; };
constexpr auto two_results = [](auto x) { return std::tuple(x + x, reduce_sum(x)); };
int evaluations = 0;
constexpr auto counting = [](auto x) {
  if (!std::is_constant_evaluated()) ++evaluations;
  return x + x;
};
}  // namespace

TEST_CASE("a compiled function gives the bits of the function, for any batch size in any order") {
  const auto compiled = jit(formula);
  for (long n : {4, 1, 100, 7}) {
    const Batch x = random_tensor<float, Shape<dyn, 5>>(1, -2, 2, n),
                y = random_tensor<float, Shape<dyn, 5>>(2, -2, 2, n);
    CHECK(same_bits(compiled(x, y), formula(x, y)));
  }
}

TEST_CASE("results do not change when the function is called again") {
  const auto compiled = jit(formula);
  const Batch x = random_tensor<float, Shape<dyn, 5>>(1), y = random_tensor<float, Shape<dyn, 5>>(2);
  const auto first = compiled(x, y);
  const auto kept = first.copy();
  compiled(y, x);
  CHECK(same_bits(first, kept));
}

TEST_CASE("several results come as a tuple") {
  const Batch x = Batch::full(1.5f, 2);
  const auto [doubled, sum] = jit(two_results)(x);
  CHECK(same_bits(doubled, Batch::full(3, 2)));
  CHECK(sum.item() == 15);
}

TEST_CASE("the function does not run, its graph does") {
  evaluations = 0;
  jit(counting)(Batch::full(1, 2));
  CHECK(evaluations == 0);
  counting(Batch::full(1, 2));
  CHECK(evaluations == 1);
}

TEST_CASE("inside another trace and on a tape a compiled function is the function") {
  const auto outer = jit([](auto x) { return jit(counting)(x) * 2.0f; });
  CHECK(same_bits(outer(Batch::full(1, 2)), Batch::full(4, 2)));
  const Batch x = Batch::full(3, 2);
  eager::Tape tape;
  tape.watch(x);
  const auto [doubled, sum] = jit(two_results)(x);
  tape.backward(doubled);
  CHECK(same_bits(tape.gradient(x), Batch::full(2, 2)));
  tape.backward(sum);
  CHECK(same_bits(tape.gradient(x), Batch::full(1, 2)));
}

TEST_CASE("arguments that do not fit are refused") {
  const auto compiled = jit(formula);
  CHECK_THROWS_WITH_AS(compiled(Batch::full(1, 2), Batch::full(1, 3)), doctest::Contains("batch size 2 and 3"),
                       ValueError);
  CHECK_THROWS_WITH_AS(compiled(Batch::full(1, 2), Batch()), doctest::Contains("without elements"), ValueError);
}

TEST_CASE("an empty batch runs, also as the first one") {
  constexpr auto twice = [](auto x) { return relu(x) * 2; };
  const auto compiled = jit(twice);
  for (long n : {0, 3, 0}) {
    const Batch x = Batch::full(1, n), y = compiled(x);
    CHECK(y.n() == n);
    CHECK(y.data() != nullptr);
    CHECK(same_bits(y, twice(x)));
  }
}
