// Softmax: large and infinite numbers, 16-bit floats, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/nn/grad.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto last = [](const auto& x) { return softmax(x); };
constexpr auto first = [](const auto& x) { return softmax<0>(x); };
}  // namespace

TEST_CASE("large numbers neither overflow nor vanish") {
  const auto x = tensor_of<float, Shape<1, 3>>({1000, 1000, -1000});
  CHECK(same_bits(both_modes(last, x).result, tensor_of<float, Shape<1, 3>>({0.5f, 0.5f, 0})));
  const auto z = log_softmax(x);
  CHECK(z.data()[0] == -std::log(2.0f));
  CHECK(z.data()[2] == -2000 - std::log(2.0f));
}

TEST_CASE("minus infinity has no share: a masked score") {
  const float inf = INFINITY;
  CHECK(same_bits(softmax(tensor_of<float, Shape<3>>({0, -inf, 0})), tensor_of<float, Shape<3>>({0.5f, 0, 0.5f})));
  CHECK(same_bits(softmax<0>(tensor_of<float, Shape<2, 2>>({0, -inf, 0, 1})),
                  tensor_of<float, Shape<2, 2>>({0.5f, 0, 0.5f, 1})));
}

TEST_CASE("a NaN spoils its row, and only that") {
  const auto y = softmax(tensor_of<float, Shape<2, 2>>({1, NAN, 3, 3}));
  CHECK(std::isnan(y.data()[0]));
  CHECK(y.data()[2] == 0.5f);
}

TEST_CASE("16-bit floats are computed in float and rounded once") {
  const auto x = random_tensor<float16, Shape<3, 50>>(1, -4, 4);
  auto wide = Tensor<float, Shape<3, 50>>::empty();
  for (long i = 0; i < x.count(); ++i) wide.data()[i] = float(x.data()[i]);
  const auto narrow = both_modes(last, x).result, column = both_modes(first, x).result;
  const auto expected = softmax(wide), expected_column = softmax<0>(wide);
  bool right = true;
  for (long i = 0; i < x.count(); ++i)
    right &= narrow.data()[i].bits == float16(expected.data()[i]).bits &&
             column.data()[i].bits == float16(expected_column.data()[i]).bits;
  CHECK(right);
  both_modes([](const auto& v) { return log_softmax(v); }, random_tensor<bfloat16, Shape<dyn, 9>>(2));
}

TEST_CASE("what does not fit is said in one sentence") {
  CHECK(refusal<ops::Softmax>({2}, {type_of<float, Shape<dyn, 3>>}) == "Softmax got the axis 2 for [n,3] of rank 2");
  CHECK(refusal<ops::LogSoftmax>({-1}, {type_of<std::int32_t, Shape<dyn, 3>>}) ==
        "LogSoftmax needs a floating-point operand, got int32 [n,3]");
}

TEST_CASE("softmax_cross_entropy: a label that is no class is refused by the gradient alone, without its loss") {
  const auto logits = tensor_of<float, Shape<2, 3>>({1, 2, 3, 4, 5, 6});
  const auto labels = tensor_of<std::int32_t, Shape<2>>({0, 3});
  constexpr auto loss = [](const auto& x, const auto& t) { return reduce_sum(softmax_cross_entropy(x, t)); };
  CHECK_THROWS_WITH_AS((void)jit(grad(loss))(logits, labels), doctest::Contains("label 3 at [1] is outside of 0 .. 2"),
                       ValueError);
}

TEST_CASE("softmax_cross_entropy: gradients of shares, which need not add up to 1, in both modes") {
  const auto logits = random_tensor<double, Shape<dyn, 4>>(3, -2, 2),
             shares = random_tensor<double, Shape<dyn, 4>>(4, 0, 1);
  constexpr auto loss = [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); };
  support::check_gradients(loss, logits, shares);
  support::check_second_derivatives(loss, logits, shares);
  both_modes(loss, logits, shares);
  constexpr auto sum = [](const auto& x, const auto& t) { return reduce_sum(softmax_cross_entropy(x, t)); };
  CHECK(same_bits(grad<1>(sum)(logits, shares), log_softmax(logits) * -1.0));
}

TEST_CASE("softmax_cross_entropy: a small loss of large logits keeps its digits") {
  const auto logits = tensor_of<float, Shape<1, 3>>({1000, 990, 988});
  const double exact = std::log1p(std::exp(-10.0) + std::exp(-12.0));
  const float of_class = softmax_cross_entropy(logits, tensor_of<std::int32_t, Shape<1>>({0})).data()[0],
              of_shares = softmax_cross_entropy(logits, tensor_of<float, Shape<1, 3>>({1, 0, 0})).data()[0];
  // log rounds 1 + 5e-5 to a 24-bit number first
  CHECK(std::fabs(of_class - exact) < 1e-7);
  CHECK(std::fabs(of_shares - exact) < 1e-7);
}
