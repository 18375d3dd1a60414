// Attention on Reference and on the CPU: dtypes, heads, masks, one operand or three, long sequences.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <AttentionConfig config>
constexpr auto packed = [](const auto& x) { return ops::attention<config>(x); };
template <AttentionConfig config>
constexpr auto three = [](const auto& q, const auto& k, const auto& v) { return ops::attention<config>(q, k, v); };

template <class T, AttentionConfig config, int queries, int keys, int width>
void check(long n) {
  CAPTURE(n);
  both_modes(three<config>, random_tensor<T, Shape<dyn, queries, width>>(1, -2, 2, n),
             random_tensor<T, Shape<dyn, keys, width>>(2, -2, 2, n),
             random_tensor<T, Shape<dyn, keys, width>>(3, -2, 2, n));
}
template <class T>
void check_dtype() {
  check<T, AttentionConfig{}, 1, 1, 1>(1);
  check<T, AttentionConfig{.heads = 3}, 5, 9, 15>(2);
  check<T, AttentionConfig{.heads = 2, .causal = true}, 7, 7, 10>(3);
  check<T, AttentionConfig{.heads = 1, .scale = 0.3f}, 3, 2, 4>(1);
  both_modes(packed<AttentionConfig{.heads = 2, .causal = true, .scale = 1.5f}>,
             random_tensor<T, Shape<dyn, 6, 18>>(1, -1, 1));
  both_modes(packed<AttentionConfig{.heads = 4}>, random_tensor<T, Shape<2, 3, 5, 12>>(1));
}
}  // namespace

TEST_CASE("attention: float32") { check_dtype<float>(); }
TEST_CASE("attention: float64") { check_dtype<double>(); }
TEST_CASE("attention: 16-bit floats") {
  check_dtype<float16>();
  check_dtype<bfloat16>();
}

TEST_CASE("attention: sequences of several blocks") {
  check<float, AttentionConfig{.heads = 2, .causal = true}, 301, 301, 10>(2);
  check<float, AttentionConfig{.heads = 1}, 3, 2100, 4>(1);
}

TEST_CASE("attention: between the projections of a layer") {
  both_modes(
      [](const auto& x, const auto& in, const auto& out) {
        return x + ops::matmul(ops::attention<AttentionConfig{.heads = 2, .causal = true}>(ops::matmul(x, in)), out);
      },
      random_tensor<float, Shape<dyn, 9, 8>>(1), random_tensor<float, Shape<8, 24>>(2, -0.5, 0.5),
      random_tensor<float, Shape<8, 8>>(3));
}
