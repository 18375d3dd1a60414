// Class numbers as vectors: values, other numbers, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/jit.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/one_hot.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("a one at the number's place; a number without a place is refused") {
  constexpr auto code = [](const auto& v) { return one_hot<3>(v); };
  const auto y = both_modes(code, tensor_of<std::int64_t, Shape<dyn>>({2, 0})).result;
  CHECK(same_bits(y, tensor_of<float, Shape<dyn, 3>>({0, 0, 1, 1, 0, 0})));
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 33}) {
    const auto numbers = tensor_of<std::int64_t, Shape<dyn>>({2, 0, wrong, -7});
    const std::string said = text("OneHot: index ", wrong,
                                  " at [2] is outside of 0 .. 2, the 3 places of the last axis "
                                  "of [n,3]. Correct the index, or give one_hot a larger depth.");
    CHECK_THROWS_WITH_AS((void)code(numbers), said.c_str(), ValueError);
    CHECK_THROWS_WITH_AS((void)jit(code)(numbers), said.c_str(), ValueError);
  }
}

TEST_CASE("computed numbers of an empty batch") {
  constexpr auto code = [](const auto& v) { return one_hot<3>(maximum(v, 0)); };
  CHECK(both_modes(code, Tensor<std::int32_t, Shape<dyn>>::empty(0)).result.n() == 0);
  const auto y = both_modes(code, tensor_of<std::int32_t, Shape<dyn>>({-5, 2})).result;
  CHECK(same_bits(y, tensor_of<float, Shape<dyn, 3>>({1, 0, 0, 0, 0, 1})));
}

TEST_CASE("other dtypes and values") {
  const auto numbers = tensor_of<std::int32_t, Shape<2>>({1, 0});
  CHECK(same_bits(one_hot<2, std::uint8_t>(numbers), tensor_of<std::uint8_t, Shape<2, 2>>({0, 1, 1, 0})));
  CHECK(same_bits(one_hot<2, double, 0.5f, -1.0f>(numbers), tensor_of<double, Shape<2, 2>>({-1, 0.5, 0.5, -1})));
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::OneHot;
  CHECK(refusal<OneHot>({3}, {type_of<float, Shape<2>>}) == "OneHot needs numbers of int32 or int64, got float32 [2]");
  CHECK(refusal<OneHot>({0}, {type_of<std::int32_t, Shape<2>>}) == "OneHot of [2] got the depth 0, it needs 1 or more");
  CHECK(refusal<OneHot>({2}, {type_of<std::int32_t, Shape<1, 1, 1, 1, 1, 1>>}) ==
        "OneHot of [1,1,1,1,1,1]: a tensor has at most 6 axes");
}
