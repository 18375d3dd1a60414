// Borders: values by hand, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/pad.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("a border of a number, of any dtype") {
  const auto x = tensor_of<std::int8_t, Shape<1, 2>>({1, 2});
  CHECK(same_bits(both_modes([](const auto& v) { return pad<Margin{0, 1}, Margin{1, 0}>(v, -3); }, x).result,
                  tensor_of<std::int8_t, Shape<2, 3>>({-3, 1, 2, -3, -3, -3})));
  both_modes([](const auto& v) { return pad<Margin{}, Margin{2, 1}>(v, 0.1); },
             random_tensor<float16, Shape<dyn, 3>>(1));
}

TEST_CASE("no margin") {
  const auto x = tensor_of<float, Shape<2>>({1, 2});
  CHECK(same_bits(pad<>(x), x));
  CHECK(same_bits(pad<Margin{}>(x), x));
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::Pad;
  const TensorType t = type_of<float, Shape<dyn, 3>>;
  const auto said = [&](Pad::Config c) { return refusal<Pad>(c, {t}); };
  CHECK(said(ops::detail::pad_config<Margin{1, 0}>(0)) ==
        "Pad of [n,3]: the leading extent, which depends on n, cannot get a margin");
  CHECK(said(ops::detail::pad_config<Margin{}, Margin{0, -1}>(1)) ==
        "Pad of [n,3] got a margin of -1: use slice to take elements away");
  CHECK(said(ops::detail::pad_config<Margin{}, Margin{}, Margin{1, 1}>(2)) ==
        "Pad of [n,3] got 3 margins, more than it has axes");
}
