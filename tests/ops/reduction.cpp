// Sums, means, extremes, and products over axes: ties, NaN, zeros, other dtypes, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/cast.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_all.hpp>
#include <tenon/ops/reduce_max.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/square.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("elements that are equally extreme share the gradient") {
  const auto x = tensor_of<float, Shape<2, 4>>({3, 1, 3, 3, -1, -1, 2, 0});
  const auto seed = random_tensor<float, Shape<2>>(815, -1, 1);
  const auto max = std::get<0>(both_modes([](const auto& v) { return reduce_max<1>(v); }, x).gradient);
  const float third = seed.data()[0] / 3;
  CHECK(same_bits(max, tensor_of<float, Shape<2, 4>>({third, 0, third, third, 0, 0, seed.data()[1], 0})));
  const auto min = std::get<0>(both_modes([](const auto& v) { return reduce_min<1>(v); }, x).gradient);
  const float half = seed.data()[1] / 2;
  CHECK(same_bits(min, tensor_of<float, Shape<2, 4>>({0, seed.data()[0], 0, 0, half, half, 0, 0})));
}

TEST_CASE("a NaN is the extreme, wherever it stands") {
  for (int at = 0; at < 20; ++at) {
    auto x = random_tensor<float, Shape<20>>(1);
    x.data()[at] = NAN;
    CHECK(std::isnan(reduce_max(x).item()));
    CHECK(std::isnan(reduce_min<0>(x).item()));
  }
  for (int at = 0; at < 80; ++at) {  // among many short rows and columns
    auto rows = random_tensor<float, Shape<20, 4>>(1);
    auto columns = random_tensor<float, Shape<20, 4, 5>>(1);
    rows.data()[at] = columns.data()[at] = NAN;
    const auto largest = reduce_max<1>(rows);
    const auto smallest = reduce_min<1>(columns);
    for (int row = 0; row < 20; ++row) CHECK(std::isnan(largest.data()[row]) == (row == at / 4));
    for (int i = 0; i < 100; ++i) CHECK(std::isnan(smallest.data()[i]) == (i == at / 20 * 5 + at % 5));
  }
  const float inf = INFINITY;
  CHECK(reduce_max(tensor_of<float, Shape<2>>({-inf, -inf})).item() == -inf);
}

namespace {
template <class T, int width>
void check_sum_square() {
  const auto x = random_tensor<T, Shape<dyn, width>>(width, -2, 2, 3);
  const auto one_pass = both_modes([](const auto& v) { return reduce_sum_square<1>(v); }, x);
  const auto two = both_modes([](const auto& v) { return reduce_sum<1>(square(v)); }, x);
  CHECK(same_bits(one_pass.result, two.result));
  CHECK(same_bits(std::get<0>(one_pass.gradient), std::get<0>(two.gradient)));
  CHECK(same_bits(reduce_sum_square<0>(x), reduce_sum<0>(square(x))));
  CHECK(same_bits(reduce_sum_square(x), reduce_sum(square(x))));
}
}  // namespace

TEST_CASE("a sum of squares has the bits of the sum of what square gives, for runs of any number of chains") {
  check_sum_square<float, 3>();
  check_sum_square<float, 100>();
  check_sum_square<float, 256>();
  check_sum_square<float, 397>();
  check_sum_square<float, 600>();
  check_sum_square<double, 300>();
  check_sum_square<float16, 300>();
  CHECK(refusal<ops::ReduceSumSquare>(ops::reduce_axes<>(1, false), {type_of<std::int32_t, Shape<2>>}) ==
        "ReduceSumSquare needs floating-point operands, got int32 [2]: cast it");
}

TEST_CASE("reduce_all and reduce_any of bool read what is there, without a cast to numbers") {
  const auto x = tensor_of<bool, Shape<2, 2>>({true, true, false, true});
  CHECK(&ops::detail::truth(x, std::source_location::current()) == &x);
  CHECK(same_bits(reduce_all<1>(x), tensor_of<bool, Shape<2>>({true, false})));
  CHECK(same_bits(reduce_any<0>(x), tensor_of<bool, Shape<2>>({true, true})));
}

TEST_CASE("the gradient of a product with zeros") {
  const auto x = tensor_of<double, Shape<3, 3>>({2, 0, 5, 0, 0, 7, 1, 2, 3});
  const auto seed = random_tensor<double, Shape<3>>(815, -1, 1);
  const auto gradient = std::get<0>(both_modes([](const auto& v) { return reduce_prod<1>(v); }, x).gradient);
  CHECK(gradient.data()[0] == 0);
  CHECK(gradient.data()[1] == 2 * 5 * seed.data()[0]);
  for (int i = 2; i < 6; ++i) CHECK(gradient.data()[i] == 0);
  CHECK(gradient.data()[7] == doctest::Approx(3 * seed.data()[2]));
}

TEST_CASE("integers of any size") {
  const auto x = tensor_of<std::uint64_t, Shape<3>>({1, ~0ull, 5});
  CHECK(both_modes([](const auto& v) { return reduce_max(v); }, x).result.item() == ~0ull);
  CHECK(reduce_min(x).item() == 1);
  const auto small = tensor_of<std::int8_t, Shape<2, 2>>({-128, 127, 3, -4});
  CHECK(same_bits(reduce_min<1>(small), tensor_of<std::int8_t, Shape<2>>({-128, -4})));
  CHECK(same_bits(reduce_prod<0>(small), tensor_of<std::int8_t, Shape<2>>({std::int8_t(-384), std::int8_t(-508)})));
  CHECK(same_bits(reduce_sum<1>(small), tensor_of<std::int8_t, Shape<2>>({-1, -1})));
}

TEST_CASE("integer sums wrap around in their own type, as the documentation says") {
  CHECK(reduce_sum(tensor_of<std::uint8_t, Shape<2>>({200, 100})).item() == 44);
  CHECK(reduce_sum(cast<std::int32_t>(tensor_of<std::uint8_t, Shape<2>>({200, 100}))).item() == 300);
}

TEST_CASE("a mean of integers is refused, a cast one is right") {
  const ops::ReduceAxes all = ops::reduce_axes<>(2, false);
  CHECK(refusal<ops::ReduceMean>(all, {type_of<std::int32_t, Shape<2, 2>>}) ==
        "ReduceMean needs floating-point operands, got int32 [2,2]: cast it");
  CHECK(refusal<ops::ReduceMean>(all, {type_of<bool, Shape<dyn, 2>>}) ==
        "ReduceMean needs floating-point operands, got bool [n,2]: cast it");
  CHECK(cast<float>(Tensor{{1, 2}, {3, 4}}).mean().item() == 2.5f);
}

TEST_CASE("16-bit sums are carried in float") {
  const auto x = Tensor<float16, Shape<5000>>::full(float16(1.0f));
  CHECK(float(reduce_sum(x).item()) == 5000.0f);
  CHECK(float(reduce_mean(x).item()) == 1.0f);
  both_modes([](const auto& v) { return reduce_mean<1>(v); }, random_tensor<bfloat16, Shape<dyn, 30>>(1));
  both_modes([](const auto& v) { return reduce_max<1>(v); }, random_tensor<float16, Shape<dyn, 30>>(1));
}

TEST_CASE("a result without a batch axis has no batch size") {
  const auto x = random_tensor<float, Shape<dyn, 2>>(1, -2, 2, 5);
  CHECK(reduce_sum(x).n() == 1);
  CHECK(reduce_sum_keep<0>(x).n() == 1);
  CHECK(reduce_sum<1>(x).n() == 5);
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType t = type_of<float, Shape<dyn, 3>>;
  CHECK(refusal<ops::ReduceMax>(ops::reduce_axes<2>(2, false), {t}) == "ReduceMax got the axis 2 for [n,3] of rank 2");
  CHECK(refusal<ops::ReduceSum>(ops::reduce_axes<0, -3>(2, false), {t}) ==
        "ReduceSum got the axis -3 for [n,3] of rank 2");
  CHECK(result_type<ops::ReduceProd>(ops::reduce_axes<-2>(2, true), {t}) == "float32 [1,3]");
}

TEST_CASE("sums and products of bool count in int64, in both modes") {
  const auto x = tensor_of<bool, Shape<2, 4>>({true, true, true, false, true, true, true, true});
  const auto count = both_modes([](const auto& v) { return reduce_sum<1>(v); }, x).result;
  CHECK(same_bits(count, tensor_of<std::int64_t, Shape<2>>({3, 4})));
  CHECK(same_bits(both_modes([](const auto& v) { return ops::reduce_sum_keep<0>(v); }, x).result,
                  tensor_of<std::int64_t, Shape<1, 4>>({2, 2, 2, 1})));
  CHECK(same_bits(both_modes([](const auto& v) { return ops::reduce_prod<1>(v); }, x).result,
                  tensor_of<std::int64_t, Shape<2>>({0, 1})));
  CHECK(ops::reduce_prod_keep<0, 1>(x).dims.dtype == Dtype::int64);
  CHECK(x.sum().item() == 7);
  const auto a = tensor_of<float, Shape<5>>({1, 2, 3, 4, 5}), b = tensor_of<float, Shape<5>>({1, 2, 3, 0, 0});
  CHECK(reduce_sum(ops::equal(a, b)).item() == 3);
  CHECK(reduce_max(x).dims.dtype == Dtype::bool_);  // any and all stay bool
  const TensorType bools = type_of<bool, Shape<4>>;
  CHECK(refusal<ops::Add>({}, {bools, bools}) == "Add needs operands that are numbers, got bool [4]: cast it");
  CHECK(refusal<ops::Mul>({}, {bools, bools}) == "Mul needs operands that are numbers, got bool [4]: cast it");
}
