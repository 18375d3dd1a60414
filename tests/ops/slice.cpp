// Parts of tensors: values by hand, Python's rules for ranges, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/slice.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
const auto x = tensor_of<std::int32_t, Shape<6>>({0, 1, 2, 3, 4, 5});

// The elements of x in a range, as a list.
template <Part part>
std::vector<std::int32_t> elements() {
  const auto y = slice<part>(x);
  return {y.values().begin(), y.values().end()};
}
using List = std::vector<std::int32_t>;
}  // namespace

TEST_CASE("ranges as in Python") {
  CHECK(elements<Part{}>() == List{0, 1, 2, 3, 4, 5});
  CHECK(elements<Part{2}>() == List{2, 3, 4, 5});
  CHECK(elements<Part{-2}>() == List{4, 5});
  CHECK(elements<Part{0, -1}>() == List{0, 1, 2, 3, 4});
  CHECK(elements<Part{1, 100}>() == List{1, 2, 3, 4, 5});
  CHECK(elements<Part{-100, 2}>() == List{0, 1});
  CHECK(elements<Part{.step = 4}>() == List{0, 4});
  CHECK(elements<Part{.step = -1}>() == List{5, 4, 3, 2, 1, 0});
  CHECK(elements<Part{4, 0, -2}>() == List{4, 2});
  CHECK(elements<Part{100, -100, -3}>() == List{5, 2});
  CHECK(elements<Part{.end = 3, .step = -1}>() == List{5, 4});
}

TEST_CASE("one axis by its number") {
  const auto m = tensor_of<std::int8_t, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  CHECK(same_bits(both_modes([](const auto& v) { return slice<-1, Part{1, 3}>(v); }, m).result,
                  tensor_of<std::int8_t, Shape<2, 2>>({2, 3, 5, 6})));
  CHECK(same_bits(slice<0, Part{-1}>(m), tensor_of<std::int8_t, Shape<1, 3>>({4, 5, 6})));
}

TEST_CASE("the gradient of one element") {
  const auto v = tensor_of<float, Shape<2, 2>>({1, 2, 3, 4});
  const auto gradient =
      std::get<0>(both_modes([](const auto& a) { return slice<Part{1, 2}, Part{0, 1}>(a); }, v).gradient);
  CHECK(gradient.data()[2] != 0);
  for (long i : {0, 1, 3}) CHECK(gradient.data()[i] == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType t = type_of<float, Shape<dyn, 3>>;
  const auto said = [&](ops::SliceWindow w) { return refusal<ops::Slice>(w, {t}); };
  CHECK(said(ops::detail::range_window<Part{0, 2}>(t, 0)) ==
        "Slice of [n,3]: a part of the leading extent, which depends on n");
  CHECK(said(ops::detail::range_window<Part{}, Part{2, 2}>(t, 1)) == "Slice of [n,3]: no element is left");
  CHECK(said(ops::detail::range_window<Part{}, Part{0, 3, 0}>(t, 1)) == "Slice of [n,3]: a step of 0");
  CHECK(said(ops::detail::range_window<Part{}, Part{}, Part{0, 1}>(t, 2)) == "Slice of [n,3]: more ranges than axes");
}
