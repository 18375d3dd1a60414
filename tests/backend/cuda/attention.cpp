// Attention on the target Cuda: the bits of the CPU, for several segments of keys and queries, and rests of blocks.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class T, AttentionConfig config, int queries, int keys, int features>
void check(long n = 1) {
  both_modes([](const auto& q, const auto& k, const auto& v) { return attention<config>(q, k, v); },
             random_tensor<T, Shape<dyn, queries, features>>(1, -1, 1, n),
             random_tensor<T, Shape<dyn, keys, features>>(2, -1, 1, n),
             random_tensor<T, Shape<dyn, keys, features>>(3, -1, 1, n));
}
}  // namespace

TEST_CASE("queries, keys, and values") {
  check<float, AttentionConfig{.heads = 2}, 20, 33, 24>(3);
  check<float, AttentionConfig{.heads = 1, .scale = 0.5f}, 5, 300, 8>();
  check<float, AttentionConfig{.heads = 1}, 280, 20, 5>();
  check<float, AttentionConfig{.heads = 1}, 3, 1100, 4>();
  check<float, AttentionConfig{.heads = 1}, 2, 30000, 2>();  // rows in the workspace
}
TEST_CASE("causal") {
  check<float, AttentionConfig{.heads = 2, .causal = true}, 50, 50, 16>(2);
  check<float, AttentionConfig{.heads = 1, .causal = true}, 530, 530, 4>();
}
TEST_CASE("heads of many widths: threads have other shares of features") {
  check<float, AttentionConfig{.heads = 2, .causal = true}, 70, 70, 128>(2);
  check<float, AttentionConfig{.heads = 1}, 40, 90, 33>();
  check<float, AttentionConfig{.heads = 1, .causal = true}, 40, 40, 130>();
  check<float, AttentionConfig{.heads = 1}, 33, 50, 257>();
  check<double, AttentionConfig{.heads = 2, .causal = true}, 45, 45, 70>();
  check<double, AttentionConfig{.heads = 1}, 9, 10, 530>();
}
TEST_CASE("many keys: blocks have fewer queries") {
  check<float, AttentionConfig{.heads = 1}, 5, 1500, 4>();
  check<float, AttentionConfig{.heads = 1}, 5, 3000, 4>();
  check<float, AttentionConfig{.heads = 1}, 5, 5000, 4>();
  check<float, AttentionConfig{.heads = 1}, 5, 9000, 4>();
}
TEST_CASE("side by side, wide heads, other types") {
  both_modes([](const auto& x) { return attention<AttentionConfig{.heads = 2, .causal = true}>(x); },
             random_tensor<float, Shape<dyn, 17, 48>>(1, -1, 1, 3));
  check<float, AttentionConfig{.heads = 1}, 3, 4, 300>();
  check<float16, AttentionConfig{.heads = 2}, 20, 33, 24>();
  check<bfloat16, AttentionConfig{.heads = 1, .causal = true}, 20, 20, 12>();
}
