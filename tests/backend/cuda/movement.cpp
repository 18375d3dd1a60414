// Kernels of the target Cuda that move and make elements, on the emulator or, compiled by nvcc, on a GPU: the bits of
// the CPU. (movement_dtypes.cpp: all dtypes.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <array>

#include "movement.hpp"

using namespace movement_test;

namespace {
struct Primes {
  using shape = Shape<3, 7>;
  static constexpr float values[]{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73};
};
struct Flags {
  using shape = Shape<5>;
  static constexpr std::array<bool, 5> values{true, false, true, true, false};
};
}  // namespace

TEST_CASE("dtypes of every kind: numbers of elements, other dtypes") {
  check_made<bool>(), check_made<std::int64_t>(), check_made<float16>(), check_made<float>();
}

TEST_CASE(
    "small and usual elements: repeated, one side of a diagonal, parts, borders, orders of axes, joined, gathered") {
  check_moved<std::int8_t>(), check_moved<float>();
}

TEST_CASE("gradients of parts") {
  const auto check = []<class T>(T) {
    CAPTURE(name(dtype_of<T>));
    const auto x = random_tensor<T, Shape<times<3>, 4, 5>>(7, -2, 2, 4);
    both_modes(
        [](const auto& v) {
          const auto [a, b, c] = split<0, 3>(v);
          return pad<Margin{}, Margin{1, 1}, Margin{0, 2}>(tril(a) + b * stop_gradient(c), 2);
        },
        x);
    both_modes([](const auto& v) { return concat<1>(slice<Part{}, Part{.step = -3}>(v), v); }, x);
    both_modes([](const auto& v) { return transpose<0, 2, 1>(slice<Part{}, Part{1}, Part{.step = 2}>(v)); }, x);
  };
  check(1.0f), check(float16(1.0f));
}

TEST_CASE("constant tables") {
  const auto x = random_tensor<float, Shape<2>>(1);
  check_bits([](const auto& v) { return ops::constant<Primes>(v); }, x);
  check_bits([](const auto& v) { return ops::constant<Flags>(v); }, x);
}
