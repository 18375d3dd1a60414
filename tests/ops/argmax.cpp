// Index of the largest and smallest element: ties, NaN, every axis, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/argmax.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("the first of equal ones, NaN before all others") {
  const auto x = tensor_of<float, Shape<4, 3>>({1, 2, 2, 5, 5, 5, NAN, 9, NAN, 1, NAN, 0});
  CHECK(same_bits(both_modes([](const auto& v) { return argmax(v); }, x).result,
                  tensor_of<std::int32_t, Shape<4>>({1, 0, 0, 1})));
  CHECK(same_bits(argmin(x), tensor_of<std::int32_t, Shape<4>>({0, 0, 0, 1})));
}

TEST_CASE("the same for columns") {
  const auto x = tensor_of<float, Shape<4, 3>>({1, NAN, 2, 5, 5, 2, 5, NAN, 0, 1, 9, 0});
  CHECK(same_bits(both_modes([](const auto& v) { return argmax<0>(v); }, x).result,
                  tensor_of<std::int32_t, Shape<3>>({1, 0, 0})));
  CHECK(same_bits(argmin<0>(x), tensor_of<std::int32_t, Shape<3>>({0, 0, 2})));
  const auto wide = Tensor<std::int32_t, Shape<5, 40>>::full(7);  // whole blocks of columns
  for (std::int32_t at : argmax<0>(wide).values()) CHECK(at == 0);
}

TEST_CASE("of an empty batch: 0 along its axis, no rows along another") {
  const auto x = Tensor<float, Shape<dyn, 3>>::zeros(0);
  const auto none = tensor_of<std::int32_t, Shape<3>>({0, 0, 0});
  CHECK(same_bits(both_modes([](const auto& v) { return argmax<0>(v); }, x).result, none));
  CHECK(same_bits(argmin<0>(x), none));
  CHECK(argmax<0>(Tensor<float, Shape<dyn>>::zeros(0)).item() == 0);
  CHECK(argmax(x).n() == 0);
}

TEST_CASE("along any axis, kept or not, of any dtype") {
  const auto x = tensor_of<std::int8_t, Shape<2, 2, 2>>({1, -2, 3, 4, 5, -6, -7, 8});
  CHECK(same_bits(argmax<0>(x), tensor_of<std::int32_t, Shape<2, 2>>({1, 0, 0, 1})));
  CHECK(same_bits(both_modes([](const auto& v) { return argmax<1, true>(v); }, x).result,
                  tensor_of<std::int32_t, Shape<2, 1, 2>>({1, 1, 0, 1})));
  CHECK(same_bits(argmax<-1>(x), tensor_of<std::int32_t, Shape<2, 2>>({0, 1, 0, 1})));
  static_assert(decltype(argmax<0>(Tensor<bool, Shape<dyn, 3>>{}))::dims == type_of<std::int32_t, Shape<3>>);
}

TEST_CASE("more columns than one block, against a plain search") {
  const auto x = random_tensor<double, Shape<dyn, 7, 150>>(3);
  const auto y = argmin<1>(x);
  bool right = true;
  for (long i = 0; i < y.count(); ++i) {
    const double* column = x.data() + i / 150 * 7 * 150 + i % 150;
    int best = 0;
    for (int k = 1; k < 7; ++k) best = column[k * 150] < column[best * 150] ? k : best;
    right &= y.data()[i] == best;
  }
  CHECK(right);
}

TEST_CASE("what does not fit is said in one sentence") {
  CHECK(refusal<ops::ArgMax>({2}, {type_of<float, Shape<dyn, 3>>}) == "Argmax got the axis 2 for [n,3] of rank 2");
  CHECK(refusal<ops::ArgMax>({-3, 0, 1}, {type_of<float, Shape<dyn, 3>>}) ==
        "Argmin got the axis -3 for [n,3] of rank 2");
}
