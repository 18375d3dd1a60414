// Views under another shape: shared elements, axes added and dropped, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/reshape.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("a view shares the elements") {
  const auto x = random_tensor<float, Shape<dyn, 3, 4>>(1);
  CHECK(reshape<Shape<dyn, 12>>(x).data() == x.data());
  CHECK(flatten(x).data() == x.data());
}

TEST_CASE("shapes") {
  const auto x = random_tensor<float, Shape<dyn, 3, 4>>(1);
  static_assert(decltype(reshape<Shape<dyn, 2, 0>>(x))::dims == type_of<float, Shape<dyn, 2, 6>>);
  static_assert(decltype(reshape<Shape<times<3>, 4>>(x))::dims == type_of<float, Shape<times<3>, 4>>);
  static_assert(decltype(expand_dims<1, -1>(x))::dims == type_of<float, Shape<dyn, 1, 3, 4, 1>>);
  static_assert(decltype(squeeze<1>(expand_dims<1>(x)))::dims == type_of<float, Shape<dyn, 3, 4>>);
  static_assert(decltype(squeeze(Tensor<float, Shape<1, 3, 1>>{}))::dims == type_of<float, Shape<3>>);
  CHECK(reshape<Shape<times<3>, 4>>(x).extent(0) == 9);
}

TEST_CASE("the same in both modes, with gradients") {
  const auto x = random_tensor<float, Shape<dyn, 3, 4>>(1);
  const auto all = both_modes([](const auto& v) { return flatten(expand_dims<2>(reshape<Shape<times<3>, 4>>(v))); }, x);
  CHECK(std::memcmp(all.result.data(), x.data(), std::size_t(x.count()) * sizeof(float)) == 0);
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Reshape;
  const TensorType t = type_of<float, Shape<dyn, 3, 1>>;
  CHECK(refusal<Reshape>(Reshape::to(type_of<float, Shape<dyn, 4>>), {t}) ==
        "Reshape of [n,3,1] (3 elements a sample) to [n,4] (4)");
  CHECK(refusal<Reshape>(Reshape::to(type_of<float, Shape<3>>), {t}) ==
        "Reshape of [n,3,1] (3 elements a sample) to [3] (3)");
  CHECK(refusal<Reshape>(ops::detail::expanded<0>(t), {t}) ==
        "Reshape of [n,3,1] to [1,n,3,1]: only the leading extent can depend on n");
  CHECK(refusal<Reshape>(ops::detail::expanded<4>(t), {t}) ==
        "expand_dims or squeeze got the axis 4 for [n,3,1] of rank 3");
  CHECK(refusal<Reshape>(ops::detail::squeezed<3>(t), {t}) ==
        "expand_dims or squeeze got the axis 3 for [n,3,1] of rank 3");
  CHECK(refusal<Reshape>(ops::detail::squeezed<1>(t), {t}) ==
        "squeeze got the axis 1 of [n,3,1], whose extent is not 1");
}
