// Permutation of axes: values by hand, dtypes, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/transpose.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("rows become columns, of any dtype") {
  const auto x = tensor_of<std::int16_t, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  const auto y = both_modes([](const auto& v) { return transpose(v); }, x).result;
  CHECK(same_bits(y, tensor_of<std::int16_t, Shape<3, 2>>({1, 4, 2, 5, 3, 6})));
  CHECK(same_bits(transpose<-1, -2>(x), y));
  CHECK(same_bits(swap_axes<0, 1>(x), y));
  both_modes([](const auto& v) { return transpose<0, 2, 1>(v); }, random_tensor<bool, Shape<dyn, 5, 20>>(2));
  both_modes([](const auto& v) { return swap_axes<-1, -3>(v); }, random_tensor<bfloat16, Shape<2, 3, 4, 5>>(2));
}

TEST_CASE("a batch of none") {
  const auto x = Tensor<float, Shape<dyn, 3, 4>>::empty(0);
  CHECK(transpose<0, 2, 1>(x).count() == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Transpose;
  const TensorType x = type_of<float, Shape<dyn, 3, 4>>;
  CHECK(refusal<Transpose>({2, {1, 0}}, {x}) ==
        "Transpose of [n,3,4] got the order (1,0), it needs each of the 3 axes once");
  CHECK(refusal<Transpose>({3, {0, 1, 1}}, {x}) ==
        "Transpose of [n,3,4] got the order (0,1,1), it needs each of the 3 axes once");
  CHECK(refusal<Transpose>({3, {0, 1, 5}}, {x}) ==
        "Transpose of [n,3,4] got the order (0,1,5), it needs each of the 3 axes once");
  CHECK(refusal<Transpose>({3, {1, 0, 2}}, {x}) ==
        "Transpose of [n,3,4] to [3,n,4]: only the leading extent can depend on n");
}
