// label: long
// Kernels for GPUs with the least shared memory that there is (Turing, 64 KB per block), of sizes that need more of it
// for the ways that other GPUs take: the bits of the CPU.
#define TENON_TARGET cuda
#if !defined(__CUDACC__)
#define __CUDA_ARCH_LIST__ 750
#endif
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
#if defined(TENON_CUDA_EMULATOR)
[[maybe_unused]] const int shared_bytes = emulator::shared_bytes = 64 << 10;
#endif
template <class T, int hidden, int steps>
void check_lstm(long n) {
  both_modes([](const auto& x, const auto& w, const auto& u) { return std::get<0>(lstm(x, w, u)); },
             random_tensor<T, Shape<dyn, steps, 1>>(1, -1, 1, n), random_tensor<T, Shape<4 * hidden, 1>>(2, -0.1, 0.1),
             random_tensor<T, Shape<4 * hidden, hidden>>(3, -0.1, 0.1));
}
template <class T, int queries, int keys, int width>
void check_attention() {
  both_modes(
      [](const auto& q, const auto& k, const auto& v) { return attention<AttentionConfig{.heads = 1}>(q, k, v); },
      random_tensor<T, Shape<dyn, queries, width>>(1, -1, 1, 1), random_tensor<T, Shape<dyn, keys, width>>(2, -1, 1, 1),
      random_tensor<T, Shape<dyn, keys, width>>(3, -1, 1, 1));
}
}  // namespace

TEST_CASE("wide layers: of many samples, and of more segments of gates") {
  check_lstm<double, 343, 1>(528);
  check_lstm<double, 460, 3>(1);
  check_lstm<float, 900, 2>(2);
}

TEST_CASE("attention of wide heads: smaller tiles") {
  check_attention<float, 5, 40, 240>();
  check_attention<float, 9, 13, 520>();
  check_attention<double, 5, 7, 530>();
}
