// Numbers beside tensors: which dtype results, on which side they may stand, and infix notation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/both_modes.hpp"

#include <limits>

#include <tenon/ops/compare.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/floor_div.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

using namespace tenon;
using namespace support;

namespace {
template <class T>
using Row = Tensor<T, Shape<3>>;
template <class T>
Row<T> row(T a, T b, T c) {
  return tensor_of<T, Shape<3>>({a, b, c});
}
template <class X>
using ElementOf = typename X::type;
template <class T, class X>
void check_row(const X& found, T a, T b, T c) {
  static_assert(std::is_same_v<ElementOf<X>, T>, "another dtype was expected");
  CHECK(same_bits(found, row<T>(a, b, c)));
}
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}
}  // namespace

TEST_CASE("a number takes the dtype of the tensor") {
  const auto x = row<float>(1, -2, 4);
  check_row<float>(2 * x, 2, -4, 8);
  check_row<float>(x + 0.5, 1.5f, -1.5f, 4.5f);
  check_row<float>(1 - x, 0, 3, -3);
  check_row<float>(x / 2, 0.5f, -1, 2);
  check_row<float>(8 / x, 8, -4, 2);
  check_row<float>(-x, -1, 2, -4);
  check_row<double>(row<double>(1, 2, 3) * 0.1, 0.1, 0.2, 3 * 0.1);
  check_row<float16>(row<float16>(1.f, 2.f, 3.f) * 2, 2.f, 4.f, 6.f);
  check_row<bfloat16>(1 - row<bfloat16>(1.f, 2.f, 3.f), 0.f, -1.f, -2.f);
  check_row<float>(pow(x, 2), 1, 4, 16);
  check_row<float>(maximum(x, 0), 1, 0, 4);
}

TEST_CASE("integers stay integers beside whole numbers, and become float32 beside fractional ones") {
  const auto i = row<std::int32_t>(1, -2, 7);
  check_row<std::int32_t>(i * 3, 3, -6, 21);
  check_row<std::int32_t>(10 - i, 9, 12, 3);
  check_row<float>(i * 2.5, 2.5f, -5, 17.5f);
  check_row<float>(0.5 + i, 1.5f, -1.5f, 7.5f);
  check_row<float>(row<bool>(true, false, true) * 0.5, 0.5f, 0, 0.5f);
  check_row<std::int8_t>(row<std::int8_t>(100, 1, 2) + 100, static_cast<std::int8_t>(-56), 101, 102);
}

TEST_CASE("a number may have 16 bits, as item() of such a tensor has") {
  const auto check = []<class T>(T number) {
    const auto x = row<T>(T(1.f), T(-2.f), T(4.f));
    check_row<T>(x * number, T(2.5f), T(-5.f), T(10.f));
    check_row<T>(number - x, T(1.5f), T(4.5f), T(-1.5f));
    check_row<T>(x / tensor_of<T, Shape<>>({T(4.f)}).item(), T(0.25f), T(-0.5f), T(1.f));
    check_row<T>(maximum(x, number), T(2.5f), T(2.5f), T(4.f));
    check_row<T>(where(number > x, x, number), T(1.f), T(-2.f), T(2.5f));
    check_row<T>(full_like(x, number), number, number, number);
    check_row<float>(row<float>(0.1f, 1, 2) * number, 0.1f * 2.5f, 2.5f, 5);
    check_row<float>(row<std::int32_t>(1, -2, 7) + number, 3.5f, 0.5f, 9.5f);
    both_modes([](const auto& v) { return v * T(2.5f) + T(1.f); }, x);
  };
  check(float16(2.5f)), check(bfloat16(2.5f));
}

TEST_CASE("/ divides integers as float32, floor_div stays in integers") {
  const auto i = row<std::int32_t>(1, -3, 7);
  check_row<float>(i / 2, 0.5f, -1.5f, 3.5f);
  check_row<float>(6 / i, 6, -2, 6.0f / 7);
  check_row<float>(i / row<std::int32_t>(2, 2, 2), 0.5f, -1.5f, 3.5f);
  check_row<std::int32_t>(floor_div(i, 2), 0, -2, 3);
  check_row<std::int32_t>(floor_div(i, row<std::int32_t>(0, -1, -2)), 0, 3, -4);
}

TEST_CASE("comparisons with numbers, on both sides") {
  const auto x = row<float>(1, 2, 3);
  check_row<bool>(x > 2, false, false, true);
  check_row<bool>(x >= 2, false, true, true);
  check_row<bool>(x < 2, true, false, false);
  check_row<bool>(x <= 2, true, true, false);
  check_row<bool>(x == 2, false, true, false);
  check_row<bool>(x != 2, true, false, true);
  check_row<bool>(2 > x, true, false, false);
  check_row<bool>(2 >= x, true, true, false);
  check_row<bool>(2 < x, false, false, true);
  check_row<bool>(2 <= x, false, true, true);
  check_row<bool>(2 == x, false, true, false);
  check_row<bool>(2 != x, true, false, true);
  check_row<bool>(row<std::int32_t>(1, 2, 3) < 2.5, true, true, false);
}

TEST_CASE("comparisons of tensors of one and of two types") {
  const auto x = row<float>(1, 2, 3), y = row<float>(1, 5, 3);
  const auto z = tensor_of<float, Shape<1, 1>>({2});
  check_row<bool>(x == y, true, false, true);
  check_row<bool>(x != y, false, true, false);
  CHECK(same_bits(x == z, tensor_of<bool, Shape<1, 3>>({false, true, false})));
  CHECK(same_bits(z == x, x == z));
  CHECK(same_bits(x<z, z> x));
}

TEST_CASE("numbers in select") {
  const auto c = row<bool>(true, false, true);
  check_row<float>(select(c, row<float>(1, 2, 3), 0), 1, 0, 3);
  check_row<float>(where(c, -1, row<float>(1, 2, 3)), -1, 2, -1);
  check_row<std::int32_t>(masked_fill(row<std::int32_t>(1, 2, 3), c, 9), 9, 2, 9);
  check_row<float>(where(c, 0.5, row<std::int32_t>(1, 2, 3)), 0.5f, 2, 0.5f);
  check_row<std::int64_t>(where(c, row<bool>(false, true, true), 7), 0, 7, 1);
}

TEST_CASE("whole numbers make bool int64, as in PyTorch; bool beside bool stays") {
  const auto c = row<bool>(true, false, true);
  check_row<std::int64_t>(c * 3, 3, 0, 3);
  check_row<std::int64_t>(1 - c, 0, 1, 0);
  check_row<std::int64_t>(c + std::int8_t{2}, 3, 2, 3);
  check_row<float>(c + 0.5f, 1.5f, 0.5f, 1.5f);
  check_row<float>(c / 2, 0.5f, 0, 0.5f);
  check_row<bool>(c == 3, false, false, false);
  check_row<bool>(c < 2, true, true, true);
  check_row<bool>(c == true, true, false, true);
  check_row<std::int64_t>(maximum(c, -5), 1, 0, 1);
}

TEST_CASE("64-bit integers keep all digits beside numbers, in both modes") {
  static constexpr std::int64_t large = (std::int64_t{1} << 53) + 1, least = std::numeric_limits<std::int64_t>::min();
  static constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto x = row<std::int64_t>(0, 1, -1);
  const auto u = row<std::uint64_t>(0, 1, 2);
  check_row<std::int64_t>(x + large, large, large + 1, large - 1);
  check_row<std::int64_t>(x * least, 0, least, least);
  check_row<std::uint64_t>(most - u, most, most - 1, most - 2);
  check_row<bool>(x + large == large, true, false, false);
  check_row<std::int64_t>(where(row<bool>(true, false, true), large, x), large, 1, large);
  check_row<std::int64_t>(full_like(x, large), large, large, large);
  CHECK(pad<Margin{0, 1}>(x, large)[3] == large);
  // a number is rounded once to a shorter dtype: by way of double it would be 2^60
  check_row<float>(row<float>(0, 0, 0) + ((std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1), 0x1.000002p60f,
                   0x1.000002p60f, 0x1.000002p60f);
  both_modes([](const auto& v) { return floor_div(v + large, 3) * -large; }, x);
  both_modes([](const auto& v) { return maximum(v, most - 1) - full_like(v, most - 2); }, u);
}

TEST_CASE("a whole number that the integers of a tensor do not have is refused") {
  CHECK(message_of([] { (void)(row<std::int8_t>(1, 2, 3) + 300); }) ==
        "Beside a tensor of int8, the number 300 does not fit int8, which has -128 to 127: cast the tensor to a dtype "
        "that has it.");
  CHECK_THROWS_AS((void)(row<std::uint8_t>(1, 2, 3) > -1), ValueError);
  CHECK_THROWS_AS((void)(row<std::uint64_t>(1, 2, 3) * -1LL), ValueError);
  CHECK_THROWS_AS((void)(row<std::int64_t>(1, 2, 3) + ~std::uint64_t{0}), ValueError);
  CHECK_THROWS_AS((void)full_like(row<std::int16_t>(1, 2, 3), 1 << 16), ValueError);
  check_row<std::int8_t>(row<std::int8_t>(1, 2, 3) + -128, -127, -126, -125);
  check_row<std::uint8_t>(row<std::uint8_t>(1, 2, 3) * 255, 255, 254, 253);
  const auto asked = [](Dtype dtype, auto number) {
    Builder b;
    const auto add = [&]<class T>(T) {
      (void)(Traced<T, Shape<>>(&b, b.leaf(&info<ops::Input>, type_of<T, Shape<>>, 0)) + number);
    };
    if (dtype == Dtype::int16) add(std::int16_t{});
    else add(std::uint32_t{});
    const std::string_view said = b.error.view();
    return std::string(said.substr(0, said.find(" (scalars.cpp:")));  // the line of the call stands behind it
  };
  CHECK(asked(Dtype::int16, 32767).empty());
  CHECK(asked(Dtype::int16, 32768) ==
        "the number 32768 does not fit int16, which has -32768 to 32767: cast the tensor to a dtype that has it");
  CHECK(asked(Dtype::uint32, -1) ==
        "the number -1 does not fit uint32, which has 0 to 4294967295: cast the tensor to a dtype that has it");
}

TEST_CASE("products with one, and copies: the same bits in both modes for every kind of number") {
  const auto check = []<class T>(T denormal, T nan) {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto x = Tensor<T, Shape<dyn>>::from(
        {T(-0.0f), denormal, T(-denormal), nan, T(-nan), T(infinity), T(-infinity), T(1.5f), T(0.0f)});
    both_modes([](const auto& v) { return v * 1.0f; }, x);
    both_modes([](const auto& v) { return select(v == v, 1 * v, v); }, x);
    both_modes([](const auto& v) { return (v + v) * 1 - 0.0f; }, x);
    both_modes([](const auto& v) { return select(v == v, v, stop_gradient(identity(v))); }, x);
    both_modes([](const auto& v) { return identity(v); }, x);
  };
  check(std::bit_cast<float>(0x00000012u), std::bit_cast<float>(0x7fc12345u));
  check(0x1p-1050, std::bit_cast<double>(0x7ff8123412341234ull));
  check(std::bit_cast<float16>(std::uint16_t{0x0003}), std::bit_cast<float16>(std::uint16_t{0x7e12}));
  check(std::bit_cast<bfloat16>(std::uint16_t{0x0003}), std::bit_cast<bfloat16>(std::uint16_t{0x7fd2}));
}

TEST_CASE("both modes agree, also where integers become float32") {
  both_modes([](const auto& x) { return (1 - x * 2.5) / 3 + (x > 1.5) * 0.25; },
             random_tensor<std::int32_t, Shape<dyn, 3>>(1, -9, 9));
  both_modes([](const auto& x) { return (2 / x - 1) * -x; }, random_tensor<float, Shape<dyn, 3>>(2, 0.5, 2));
}
