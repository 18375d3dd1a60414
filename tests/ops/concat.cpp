// Tensors one after another: values by hand, up to six, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/concat.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("two to six tensors") {
  const auto a = tensor_of<std::uint8_t, Shape<1>>({1}), b = tensor_of<std::uint8_t, Shape<1>>({2});
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return concat<0>(x, y, x, y, y, x); }, a, b).result,
                  tensor_of<std::uint8_t, Shape<6>>({1, 2, 1, 2, 2, 1})));
  CHECK(concat<0>(a, b, a, b, a).count() == 5);
  CHECK(concat<0>(a, b, a, b).count() == 4);
}

namespace {
struct BesideRows : nn::Cell<BesideRows> {
  Parameter<float, Shape<2, 1>, nn::One{}> rows;
  constexpr auto construct(auto x) const { return concat<1>(x, rows, x, x, x, x, rows); }
};
}  // namespace

TEST_CASE("seven tensors, of which two are a parameter") {
  const auto x = tensor_of<float, Shape<2, 1>>({3, 4});
  CHECK(same_bits(BesideRows()(x), tensor_of<float, Shape<2, 7>>({3, 1, 3, 3, 3, 3, 1, 4, 1, 4, 4, 4, 4, 1})));
}

TEST_CASE("a tensor beside itself gets both gradients") {
  const auto x = random_tensor<float, Shape<dyn, 2>>(1);
  const auto gradient = std::get<0>(both_modes([](const auto& v) { return concat<1>(v, v); }, x).gradient);
  const auto dy = random_tensor<float, Shape<dyn, 4>>(815, -1, 1, x.n());
  CHECK(gradient.data()[0] == dy.data()[0] + dy.data()[2]);
}

TEST_CASE("stack makes a new axis") {
  const auto a = tensor_of<float, Shape<2>>({1, 2}), b = tensor_of<float, Shape<2>>({3, 4});
  CHECK(same_bits(both_modes([](const auto& x, const auto& y) { return stack<0>(x, y); }, a, b).result,
                  tensor_of<float, Shape<2, 2>>({1, 2, 3, 4})));
  CHECK(same_bits(stack<-1>(a, b), tensor_of<float, Shape<2, 2>>({1, 3, 2, 4})));
  static_assert(decltype(stack<1>(a, b, a, b))::dims == type_of<float, Shape<2, 4>>);
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Concat;
  const auto f = [](auto s) { return type_of<float, decltype(s)>; };
  CHECK(refusal<Concat>({1}, {f(Shape<2, 3>{}), f(Shape<3, 3>{})}) ==
        "Concat along axis 1 of [2,3] and [3,3]: the other extents must agree");
  CHECK(refusal<Concat>({0}, {f(Shape<dyn, 3>{}), f(Shape<3, 3>{})}) ==
        "Concat along axis 0 of [n,3] and [3,3]: the other extents must agree");
  CHECK(refusal<Concat>({0}, {f(Shape<2, 3>{}), f(Shape<3>{})}) ==
        "Concat along axis 0 of [2,3] and [3]: the other extents must agree");
  CHECK(refusal<Concat>({2}, {f(Shape<2, 3>{}), f(Shape<2, 3>{})}) == "Concat got the axis 2 for [2,3] of rank 2");
  CHECK(refusal<Concat>({0}, {f(Shape<2>{}), type_of<double, Shape<2>>}) ==
        "Concat of float32 [2] and float64 [2]: cast one of them, dtypes must agree");
  CHECK(result_type<Concat>({-2}, {f(Shape<dyn, 3>{}), f(Shape<dyn, 3>{})}) == "float32 [2n,3]");
}
