// Softmax, its logarithm, and cross entropy on Reference and on the CPU: dtypes, axes, batches, both kinds of labels.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/ops.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr auto loss = [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); };

template <class T>
void check_dtype() {
  for (const long n : {1, 5}) {
    CAPTURE(n);
    const auto x = random_tensor<T, Shape<dyn, 3, 7>>(1, -9, 9, n);
    both_modes([](const auto& v) { return softmax(v); }, x);
    both_modes([](const auto& v) { return softmax<1>(v); }, x);
    both_modes([](const auto& v) { return softmax<0>(v); }, x);
    both_modes([](const auto& v) { return log_softmax(v); }, x);
    both_modes([](const auto& v) { return log_softmax<0>(v); }, x);
    both_modes(loss, x, random_tensor<T, Shape<dyn, 3, 7>>(2, 0, 0.3, n));  // shares that do not add up to 1
    both_modes(loss, x, random_tensor<std::int64_t, Shape<dyn, 3>>(3, 0, 7, n));
    both_modes(loss, random_tensor<T, Shape<dyn, 33>>(1, -9, 9, n),
               random_tensor<std::int32_t, Shape<dyn>>(3, 0, 33, n));
  }
}
}  // namespace

TEST_CASE("softmax and cross entropy: float32") { check_dtype<float>(); }
TEST_CASE("softmax and cross entropy: float64") { check_dtype<double>(); }
TEST_CASE("softmax and cross entropy: 16-bit floats") {
  check_dtype<float16>();
  check_dtype<bfloat16>();
}

TEST_CASE("softmax: long rows, one class, numbers that are masked, infinite, or none") {
  both_modes([](const auto& v) { return softmax(v); }, random_tensor<float, Shape<dyn, 2500>>(1));
  both_modes([](const auto& v) { return log_softmax(v); }, random_tensor<float, Shape<2, 2500>>(1));
  both_modes(loss, random_tensor<float, Shape<dyn, 1>>(1), random_tensor<std::int32_t, Shape<dyn>>(3, 0, 1));
  const float inf = INFINITY;
  const auto x = tensor_of<float, Shape<5, 3>>({0, -inf, 0, 1000, 990, -1000, -inf, -inf, -inf, NAN, 1, 2, 3, inf, 0});
  both_modes<SameNumbers>([](const auto& v) { return softmax(v); }, x);
  both_modes<SameNumbers>([](const auto& v) { return log_softmax(v); }, x);
  both_modes<SameNumbers>(loss, x, tensor_of<std::int32_t, Shape<5>>({0, 1, 0, 1, 2}));
}

TEST_CASE("softmax: the loss of a small classifier, with the gradients of its layers") {
  both_modes([](const auto& x, const auto& w,
                const auto& t) { return reduce_mean(softmax_cross_entropy(ops::matmul(x, w), t)); },
             random_tensor<float, Shape<dyn, 6>>(1, -2, 2, 9), random_tensor<float, Shape<6, 5>>(2),
             random_tensor<std::int32_t, Shape<dyn>>(3, 0, 5, 9));
}
