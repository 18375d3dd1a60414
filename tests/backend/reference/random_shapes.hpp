// Random shapes, known to the compiler: 100 of them, each with five batch sizes, on the CPU and on Reference.
#pragma once
#include <doctest/doctest.h>

#include <utility>

#include "../../support/both_modes.hpp"

namespace random_shapes {

using namespace tenon;
using support::random_tensor;

inline constexpr int shapes = 100;
inline constexpr long batches[]{1, 2, 7, 16, 37};

/// Number `index` of the shape `seed`: low .. high, all equally often.
constexpr int pick(int seed, int index, int low, int high) {
  std::uint64_t h = std::uint64_t(seed) * 0x9e3779b97f4a7c15u + std::uint64_t(index + 1) * 0xbf58476d1ce4e5b9u;
  h ^= h >> 31, h *= 0x94d049bb133111ebu, h ^= h >> 29;
  return low + int(h % std::uint64_t(high - low + 1));
}

/// Compares f(x...) and the gradients of all x of both targets; f is generic and captures nothing.
template <class F, class... X>
void compare(const F& f, const X&... x) {
  constexpr auto operands = std::index_sequence_for<X...>{};
  const auto cpu = support::detail::run_eager(f, operands, x...);
  const ContextScope scope({.device_target = OtherTarget::name});
  const auto other = support::detail::run_eager(f, operands, x...);
  CHECK_MESSAGE(support::detail::equal_outcomes<support::detail::Near>(cpu, other, operands), "the targets differ");
}

/// Calls check.operator()<seed>(n) for every shape and batch size, and counts.
template <class Check>
void for_each_shape(const Check& check) {
  int count = 0;
  [&]<int... Seed>(std::integer_sequence<int, Seed...>) {
    const auto one = [&]<int seed>(std::integral_constant<int, seed>) {
      CAPTURE(seed);
      for (const long n : batches) {
        CAPTURE(n);
        check.template operator()<seed>(n);
        ++count;
      }
    };
    (one(std::integral_constant<int, Seed>{}), ...);
  }(std::make_integer_sequence<int, shapes>{});
  CHECK(count == 500);
}

}  // namespace random_shapes
