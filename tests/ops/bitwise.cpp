// Operators on bits, remainders and powers of integers: limits, zeros, refusals.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

#include <limits>

#include <tenon/more.hpp>

using namespace tenon;
using namespace support;

namespace {
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(), highest = ~lowest;
}

TEST_CASE("and, or, xor, not of every dtype of integers, and of bool") {
  const auto check = []<class T>(T) {
    const auto a = tensor_of<T, Shape<4>>({T(0), T(12), T(5), T(-1)});
    const auto b = tensor_of<T, Shape<1>>({T(6)});
    CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return bitwise_and(x, y); }, a, b).result,
                    tensor_of<T, Shape<4>>({T(0), T(4), T(4), T(6)})));
    CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return bitwise_or(x, y); }, a, b).result,
                    tensor_of<T, Shape<4>>({T(6), T(14), T(7), T(-1)})));
    CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return bitwise_xor(x, y); }, a, b).result,
                    tensor_of<T, Shape<4>>({T(6), T(10), T(3), T(T(-1) ^ T(6))})));
    CHECK(same_bits(both_modes([](const auto& x) { return bitwise_not(x); }, a).result,
                    tensor_of<T, Shape<4>>({T(-1), T(~12), T(~5), T(0)})));
  };
  check(std::int8_t{}), check(std::uint8_t{}), check(std::int32_t{}), check(std::int64_t{}), check(std::uint64_t{});
  const auto p = tensor_of<bool, Shape<4>>({false, false, true, true}),
             q = tensor_of<bool, Shape<4>>({false, true, false, true});
  CHECK(same_bits(bitwise_and(p, q), logical_and(p, q)));
  CHECK(same_bits(bitwise_or(p, q), logical_or(p, q)));
  CHECK(same_bits(bitwise_xor(p, q), logical_xor(p, q)));
  CHECK(same_bits(bitwise_not(p), logical_not(p)));
  CHECK(same_bits(bitwise_and(Tensor{13, 6}, 5), Tensor{5, 4}));
  const auto infix = [](const auto& x, const auto& y) { return (x & y) | ~(x | 1); };
  CHECK(same_bits(both_modes(infix, Tensor{13, 6}, Tensor{5, 3}).result, Tensor{-9, -6}));
}

TEST_CASE("shifts: within the dtype, and beyond its bits as PyTorch") {
  const Tensor a{1, -8, 7, lowest, highest, -1, 1, -9}, b{4, 1, 31, 1, 31, 32, -1, 40};
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return bitwise_left_shift(x, y); }, a, b).result,
                  Tensor{16, -16, lowest, 0, lowest, 0, 0, 0}));
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return bitwise_right_shift(x, y); }, a, b).result,
                  Tensor{0, -4, 0, lowest / 2, 0, -1, 0, -1}));
  const auto small = tensor_of<std::uint8_t, Shape<3>>({200, 3, 255});
  CHECK(same_bits(bitwise_left_shift(small, 1), tensor_of<std::uint8_t, Shape<3>>({144, 6, 254})));
  CHECK(same_bits(bitwise_right_shift(small, 1), tensor_of<std::uint8_t, Shape<3>>({100, 1, 127})));
}

TEST_CASE("remainders of integers: signs, zero, the smallest integer by -1") {
  const Tensor a{7, -7, 7, -7, 5, lowest, lowest, 0}, b{3, 3, -3, -3, 0, -1, highest, 9};
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return fmod(x, y); }, a, b).result,
                  Tensor{1, -1, 1, -1, 0, 0, -1, 0}));
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return floor_mod(x, y); }, a, b).result,
                  Tensor{1, 2, -2, -1, 0, 0, highest - 1, 0}));
  const auto bytes = tensor_of<std::int8_t, Shape<2>>({-128, 100}), by = tensor_of<std::int8_t, Shape<2>>({-1, -128});
  CHECK(same_bits(floor_mod(bytes, by), tensor_of<std::int8_t, Shape<2>>({0, -28})));
}

TEST_CASE("powers of integers wrap around; a negative exponent gives 0 but for 1 and -1") {
  const Tensor a{3, -2, 10, 0, 0, 2, 1, -1, -1, 0}, b{4, 3, 10, 0, 5, -1, -7, -7, -8, -1};
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return pow(x, y); }, a, b).result,
                  Tensor{81, -8, 1410065408, 1, 0, 0, 1, -1, 1, 0}));
  CHECK(same_bits(pow(tensor_of<std::uint8_t, Shape<2>>({3, 16}), 3), tensor_of<std::uint8_t, Shape<2>>({27, 0})));
}

TEST_CASE("what is no integer is refused") {
  CHECK(refusal<ops::BitwiseAnd>({}, {Tensor<float, Shape<dyn>>::dims, Tensor<float, Shape<dyn>>::dims}) ==
        "BitwiseAnd needs integers, got float32 [n]: cast it");
  CHECK(refusal<ops::LeftShift>({}, {Tensor<bool, Shape<dyn>>::dims, Tensor<bool, Shape<dyn>>::dims}) ==
        "LeftShift needs operands that are numbers, got bool [n]: cast it");
}
