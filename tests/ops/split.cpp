// Pieces of tensors: values by hand, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/concat.hpp>
#include <tenon/ops/split.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("equal pieces are an array, given extents a tuple") {
  const auto x = tensor_of<std::int32_t, Shape<2, 4>>({0, 1, 2, 3, 4, 5, 6, 7});
  const auto [left, right] = split<1, 2>(x);
  CHECK(same_bits(left, tensor_of<std::int32_t, Shape<2, 2>>({0, 1, 4, 5})));
  CHECK(same_bits(right, tensor_of<std::int32_t, Shape<2, 2>>({2, 3, 6, 7})));
  const auto [one, three] = split_sizes<-1, 1, 3>(x);
  CHECK(same_bits(one, tensor_of<std::int32_t, Shape<2, 1>>({0, 4})));
  CHECK(same_bits(three, tensor_of<std::int32_t, Shape<2, 3>>({1, 2, 3, 5, 6, 7})));
}

TEST_CASE("pieces joined again are the whole, and so are their gradients") {
  const auto around = [](const auto& x) {
    const auto [a, b, c] = split<-1, 3>(x);
    return concat<-1>(a, b, c);
  };
  const auto x = random_tensor<float, Shape<dyn, 2, 6>>(1);
  const auto all = both_modes(around, x);
  CHECK(same_bits(all.result, x));
  CHECK(same_bits(std::get<0>(all.gradient), random_tensor<float, Shape<dyn, 2, 6>>(815, -1, 1, x.n())));
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Split;
  const TensorType t = type_of<float, Shape<dyn, 7>>;
  CHECK(refusal<Split>({1, 0, 0, 3, 0}, {t}) ==
        "Split of [n,7] along axis 1 in 3 equal pieces: its extent is no multiple of that");
  CHECK(refusal<Split>({2, 0, 0, 3, 0}, {t}) == "Split got the axis 2 for [n,7] of rank 2");
  CHECK(refusal<Split>({1, 0, 3, 0, 8}, {t}) ==
        "Split of [n,7] along axis 1 in pieces of 8 elements together, all above 0");
  CHECK(refusal<Split>({0, 0, 0, 2, 0}, {t}) ==
        "Split of [n,7] along axis 0 in 2 equal pieces: its extent is no multiple of that");
}
