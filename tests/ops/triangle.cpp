// One side of the diagonal: values by hand, NaN outside, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/triangle.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("sides and diagonals") {
  const auto x = tensor_of<std::int32_t, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return tril(v); }, x).result,
                  tensor_of<std::int32_t, Shape<2, 3>>({1, 0, 0, 4, 5, 0})));
  CHECK(same_bits(tril<-1>(x), tensor_of<std::int32_t, Shape<2, 3>>({0, 0, 0, 4, 0, 0})));
  CHECK(same_bits(triu<1>(x), tensor_of<std::int32_t, Shape<2, 3>>({0, 2, 3, 0, 0, 6})));
}

TEST_CASE("what is cut off does not shine through") {
  const auto x = tensor_of<float, Shape<2, 2>>({1, NAN, 2, 3});
  CHECK(same_bits(tril(x), tensor_of<float, Shape<2, 2>>({1, 0, 2, 3})));
  CHECK(same_bits(causal_mask(x), tensor_of<float, Shape<2, 2>>({1, -INFINITY, 2, 3})));
}

TEST_CASE("what does not fit is said in one sentence") {
  CHECK(refusal<ops::Triangle>({}, {type_of<float, Shape<dyn>>}) ==
        "tril, triu, and causal_mask need matrices [...,rows,columns], got [n]");
}
