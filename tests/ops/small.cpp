// Small operators that consist of others: values and special values of PyTorch, gradients; the table of promotions.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN(),
                largest = std::numeric_limits<float>::max();
}  // namespace

TEST_CASE("isnan, isinf, isfinite, nan_to_num") {
  const auto x = tensor_of<float, Shape<6>>({not_a_number, inf, -inf, -0.0f, 3, largest});
  const auto flags = [](std::initializer_list<bool> expected) {
    auto t = Tensor<bool, Shape<6>>::full(false);
    long i = 0;
    for (const bool b : expected) t.data()[i++] = b;
    return t;
  };
  CHECK(same_bits(both_modes([](const auto& v) { return isnan(v); }, x).result,
                  flags({true, false, false, false, false, false})));
  CHECK(same_bits(both_modes([](const auto& v) { return isinf(v); }, x).result,
                  flags({false, true, true, false, false, false})));
  CHECK(same_bits(both_modes([](const auto& v) { return isfinite(v); }, x).result,
                  flags({false, false, false, true, true, true})));
  const auto y = both_modes([](const auto& v) { return nan_to_num(v, 7); }, x);
  CHECK(same_bits(y.result, tensor_of<float, Shape<6>>({7, largest, -largest, -0.0f, 3, largest})));
  for (long i = 0; i < 3; ++i) CHECK(std::get<0>(y.gradient).data()[i] == 0);
  CHECK(std::get<0>(y.gradient).data()[4] != 0);
  CHECK(float(nan_to_num(tensor_of<float16, Shape<1>>({float16(inf)})).data()[0]) == 65504);
  CHECK(nan_to_num(Tensor{-double(inf)}).data()[0] == -std::numeric_limits<double>::max());
}

TEST_CASE("isnan, isinf, isfinite, nan_to_num: integers and bool are finite") {
  const auto check = [](const auto& x) {
    const auto all = [&](bool flag) { return Tensor<bool, Shape<2>>::full(flag); };
    CHECK(same_bits(both_modes([](const auto& v) { return isnan(v); }, x).result, all(false)));
    CHECK(same_bits(both_modes([](const auto& v) { return isinf(v); }, x).result, all(false)));
    CHECK(same_bits(both_modes([](const auto& v) { return isfinite(v); }, x).result, all(true)));
    CHECK(same_bits(both_modes([](const auto& v) { return nan_to_num(v); }, x).result, x));
  };
  check(tensor_of<bool, Shape<2>>({true, false}));
  check(tensor_of<std::int64_t, Shape<2>>({std::numeric_limits<std::int64_t>::min(), 5}));
  check(tensor_of<std::uint8_t, Shape<2>>({0, 255}));
}

TEST_CASE("lerp, addcmul, addcdiv, logaddexp") {
  const auto a = random_tensor<float, Shape<dyn, 5>>(1, -2, 2, 3), b = random_tensor<float, Shape<dyn, 5>>(2, -2, 2, 3),
             w = random_tensor<float, Shape<dyn, 5>>(3, 0, 1, 3);
  both_modes([](const auto& x, const auto& y, const auto& z) { return lerp(x, y, z); }, a, b, w);
  CHECK(same_bits(lerp(a, b, 1), b));
  CHECK(same_bits(lerp(a, b, 0), a + 0 * b));
  CHECK(both_modes([](const auto& x, const auto& y) { return lerp(x, y, 0.25f); }, Tensor{2.0f}, Tensor{4.0f})
            .result.item() == 2.5f);
  both_modes([](const auto& x, const auto& y, const auto& z) { return addcmul(x, y, z, 0.5f); }, a, b, w);
  both_modes([](const auto& x, const auto& y, const auto& z) { return addcdiv(x, y, z, 2); }, a, b, w);
  CHECK(addcmul(Tensor{1.0f}, Tensor{2.0f}, Tensor{3.0f}, 0.5f).item() == 4);
  CHECK(addcdiv(Tensor{1.0f}, Tensor{6.0f}, Tensor{3.0f}, 2).item() == 5);
  const auto u = tensor_of<float, Shape<6>>({1, 1000, inf, -inf, inf, 0}),
             v = tensor_of<float, Shape<6>>({2, 1000, inf, -inf, 3, 0});
  const auto y = both_modes<SameNumbers>([](const auto& p, const auto& q) { return logaddexp(p, q); }, u, v).result;
  CHECK(y.data()[0] == doctest::Approx(2.31326169));
  CHECK(y.data()[1] == doctest::Approx(1000.69315));
  CHECK(y.data()[2] == inf);
  CHECK(y.data()[3] == -inf);
  CHECK(y.data()[4] == inf);
  CHECK(y.data()[5] == doctest::Approx(0.693147181));
  check_gradients([](const auto& p, const auto& q) { return logaddexp(p, q); }, Tensor{1.0, 2.0, -3.0},
                  Tensor{1.5, -2.0, 4.0});
}

TEST_CASE("diagonal, trace, diag, eye") {
  const auto x = tensor_of<float, Shape<2, 2, 3>>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(same_bits(both_modes([](const auto& v) { return diagonal(v); }, x).result,
                  tensor_of<float, Shape<2, 2>>({1, 5, 7, 11})));
  CHECK(same_bits(both_modes([](const auto& v) { return diagonal<1>(v); }, x).result,
                  tensor_of<float, Shape<2, 2>>({2, 6, 8, 12})));
  CHECK(same_bits(diagonal<-1>(x), tensor_of<float, Shape<2, 1>>({4, 10})));
  CHECK(same_bits(trace(x), tensor_of<float, Shape<2>>({6, 18})));
  const auto v = tensor_of<float, Shape<dyn, 2>>({1, inf, 3, 4});
  CHECK(same_bits(both_modes([](const auto& t) { return diag(t); }, v).result,
                  tensor_of<float, Shape<dyn, 2, 2>>({1, 0, 0, inf, 3, 0, 0, 4})));
  CHECK(same_bits(eye<2>(x), tensor_of<float, Shape<2, 2>>({1, 0, 0, 1})));
  both_modes([](const auto& t) { return matmul(t, eye<3>(t)); }, x);
  check_gradients([](const auto& t) { return diagonal<1>(t); }, random_tensor<double, Shape<2, 3, 3>>(1));
}

TEST_CASE("promote: MindSpore's table: that of PyTorch, without wide unsigned integers beside floats") {
  constexpr std::string_view names[]{"bool",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
                                     "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
  constexpr std::string_view expected[13][13]{
      {"bool", "int8", "int16", "int32", "int64", "uint8", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"int8", "int8", "int16", "int32", "int64", "int16", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"int16", "int16", "int16", "int32", "int64", "int16", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"int32", "int32", "int32", "int32", "int64", "int32", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"int64", "int64", "int64", "int64", "int64", "int64", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"uint8", "int16", "int16", "int32", "int64", "uint8", "none", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"none", "none", "none", "none", "none", "none", "uint16", "none", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"none", "none", "none", "none", "none", "none", "none", "uint32", "none", "float16", "bfloat16", "float32",
       "float64"},
      {"none", "none", "none", "none", "none", "none", "none", "none", "uint64", "float16", "bfloat16", "float32",
       "float64"},
      {"float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16",
       "float32", "float32", "float64"},
      {"bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16",
       "float32", "bfloat16", "float32", "float64"},
      {"float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32",
       "float32", "float32", "float64"},
      {"float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64",
       "float64", "float64", "float64"}};
  for (int i = 0; i < 13; ++i)
    for (int k = 0; k < 13; ++k) {
      CAPTURE(std::string(names[i]));
      CAPTURE(std::string(names[k]));
      const auto common = common_dtype(Dtype(i), Dtype(k));
      const auto wide = [](int d) { return d >= int(Dtype::uint16) && d <= int(Dtype::uint64); };
      const bool refused = (wide(i) && is_floating(Dtype(k))) || (wide(k) && is_floating(Dtype(i)));
      CHECK((common ? name(*common) : "none") == (refused ? "none" : expected[i][k]));
    }
  const auto a = tensor_of<std::int32_t, Shape<2>>({1, 2});
  const auto b = tensor_of<float, Shape<2>>({0.5f, 1.5f});
  constexpr auto sum = [](const auto& p, const auto& q) {
    const auto [u, v] = promote(p, q);
    return u + v;
  };
  CHECK(same_bits(both_modes(sum, a, b).result, tensor_of<float, Shape<2>>({1.5f, 3.5f})));
  const auto c = random_tensor<float16, Shape<dyn, 3>>(1, -1, 1, 2);
  const auto d = random_tensor<bfloat16, Shape<dyn, 3>>(2, -1, 1, 2);
  static_assert(std::is_same_v<decltype(sum(c, d))::type, float>);
  both_modes(sum, c, d);
  Sentence error;
  ops::detail::PromoteRule<Tensor<std::uint16_t, Shape<2>>, Tensor<float, Shape<2>>>::write(error, {});
  CHECK(error.view() ==
        "Promote of uint16 [2] and float32 [2]: they have no common dtype in MindSpore's table; cast one of them");
}
