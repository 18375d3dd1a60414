// Tensors of one number and of consecutive ones.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("shape and dtype of x, the value of the call") {
  const auto x = random_tensor<float, Shape<dyn, 2>>(1);
  const auto y = both_modes([](const auto& v) { return full_like(v, 0.1); }, x).result;
  CHECK(y.n() == x.n());
  for (float v : y.values()) CHECK(v == 0.1f);
  for (std::int8_t v : zeros_like(random_tensor<std::int8_t, Shape<3>>(1)).values()) CHECK(v == 0);
  for (float16 v : ones_like(random_tensor<float16, Shape<3>>(1)).values()) CHECK(float(v) == 1.0f);
}

TEST_CASE("two values are two nodes") {
  const auto x = random_tensor<double, Shape<2>>(1);
  const auto y = both_modes([](const auto& v) { return full_like(v, 3) * full_like(v, 5); }, x).result;
  CHECK(y.data()[1] == 15);
}

TEST_CASE("no gradient flows") {
  const auto x = random_tensor<float, Shape<4>>(1);
  const auto gradient = std::get<0>(both_modes([](const auto& v) { return ones_like(v) * v; }, x).gradient);
  CHECK(same_bits(gradient, random_tensor<float, Shape<4>>(815, -1, 1)));
}

TEST_CASE("arange counts") {
  const auto x = random_tensor<float, Shape<dyn, 2>>(1);
  CHECK(same_bits(both_modes([](const auto& v) { return arange<4>(v); }, x).result,
                  tensor_of<std::int32_t, Shape<4>>({0, 1, 2, 3})));
  CHECK(same_bits(arange<3, float, 5, -2>(x), tensor_of<float, Shape<3>>({5, 3, 1})));
  CHECK(refusal<ops::Arange>({0}, {type_of<float, Shape<2>>}) == "arange got the count 0, it needs 1 or more");
}
