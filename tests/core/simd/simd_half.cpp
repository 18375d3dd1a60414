// Vectors of 16-bit floats have the bits of single ones, with and without flushing of denormals.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <vector>

#include <tenon/core/float/denormals.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/core/simd/simd_half.hpp>

using namespace tenon;

namespace {
template <class Half, int width>
void check_width() {
  int wrong = 0;
  for (std::uint32_t first = 0; first < 65536; first += width) {
    Half from[width], back[width];
    float single[width], lanes[width];
    for (int l = 0; l < width; ++l) from[l].bits = std::uint16_t(first + std::uint32_t(l)), single[l] = from[l];
    {
      const FlushDenormals flush;
      load_float<width>(from).store(lanes);
      store_float(load_float<width>(from), back);
    }
    for (int l = 0; l < width; ++l)
      wrong += std::memcmp(lanes + l, single + l, sizeof(float)) != 0 || back[l].bits != Half(single[l]).bits;
  }
  // Floats of every sign, exponent, and first digits, and others.
  Random random(3);
  for (std::uint32_t i = 0; i < 1u << 20; i += width) {
    float from[width];
    Half lanes[width];
    for (int l = 0; l < width; ++l)
      from[l] = std::bit_cast<float>(((i + std::uint32_t(l)) << 12) +
                                     (i % 3 ? std::uint32_t(random.below(4096)) : i % 2 * 0x800u));
    store_float(Simd<float, width>::load(from), lanes);
    for (int l = 0; l < width; ++l) wrong += lanes[l].bits != Half(from[l]).bits;
    if (float(lanes[0]) - float(lanes[0]) != 0) continue;
    for (int l = 0; l < width; ++l)
      wrong +=
          std::bit_cast<std::uint32_t>(Half::rounded(from[l])) != std::bit_cast<std::uint32_t>(float(Half(from[l])));
  }
  CHECK(wrong == 0);
}
}  // namespace

TEST_CASE_TEMPLATE("simd half: every pattern, and rounding", Half, float16, bfloat16) {
  check_width<Half, 4>();
  check_width<Half, 8>();
  check_width<Half, simd_width<float>>();
}

TEST_CASE("simd half: what arithmetic computes is stored alike") {
  Random random(4);
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) {
    float sums[8];
    bfloat16 a[8], b[8];
    for (float& s : sums) s = random.uniform(-1, 1) * std::bit_cast<float>(std::uint32_t(random.below(255)) << 23);
    sums[i % 8] = i % 5 ? 0.0f : i % 2 ? std::bit_cast<float>(0xffc12345u) : std::bit_cast<float>(0x7f7fffffu);
    const FlushDenormals flush;
    volatile float one = 1;  // unknown to the compiler
    for (float& s : sums) s *= one;
    store_sums(Simd<float, 8>::load(sums), a);
    store_float(Simd<float, 8>::load(sums), b);
    wrong += std::memcmp(a, b, sizeof a) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("simd half: a pair adds its second product first") {
  Random random(5);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const bfloat16 a[2]{random.uniform(-2, 2), random.uniform(-2, 2)},
        b[2]{random.uniform(-2, 2), random.uniform(-2, 2)};
    const float sum = random.uniform(-8, 8);
    const auto pair = [](const bfloat16(&x)[2]) {
      return Simd<Bfloat16Pair, 8>(Bfloat16Pair(x[0].bits) | Bfloat16Pair(x[1].bits) << 16);
    };
    wrong += fmadd(pair(a), pair(b), Simd<float, 8>(sum))[5] !=
             fmadd(float(a[0]), float(b[0]), fmadd(float(a[1]), float(b[1]), sum));
  }
  CHECK(wrong == 0);
}
