// Random tensors: the distribution, the same numbers for every batch size, and what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <tenon/core/random/random.hpp>
#include <tenon/core/random/random_group.hpp>
#include <tenon/core/tensor/compare.hpp>

using namespace tenon;

TEST_CASE("normal: mean, deviation, tails, no extremes") {
  const auto x = random_normal<double, Shape<dyn>>(1, {.mean = 3, .sigma = 2}, 100000);
  double sum = 0, squares = 0, fourth = 0;
  int far = 0;
  for (double v : x.values()) {
    const double z = (v - 3) / 2;
    sum += z, squares += z * z, fourth += z * z * z * z;
    far += std::abs(z) > 2;
    CHECK_MESSAGE(std::abs(z) < 6, v);
  }
  CHECK(std::abs(sum / 1e5) < 0.016);  // five standard deviations each
  CHECK(std::abs(squares / 1e5 - 1) < 0.023);
  CHECK(std::abs(fourth / 1e5 - 3) < 0.16);
  CHECK(std::abs(far / 1e5 - 0.0455) < 0.0033);
}

TEST_CASE("uniform: range, mean, equal parts") {
  const auto x = random_uniform<float, Shape<dyn>>(2, {.low = -1, .high = 3}, 80000);
  std::vector<int> part(8);
  for (float v : x.values()) {
    REQUIRE((v >= -1 && v < 3));
    ++part[std::size_t((v + 1) * 2)];
  }
  for (int count : part) CHECK(std::abs(count - 10000) < 500);
}

TEST_CASE("integers: each equally often, negative and wide ranges") {
  const auto x = random_integers<std::int64_t, Shape<dyn>>(3, {.low = -2, .high = 3}, 50000);
  std::vector<int> hits(5);
  for (std::int64_t v : x.values()) ++hits[std::size_t(v + 2)];
  for (int count : hits) CHECK(std::abs(count - 10000) < 500);
  const auto wide = random_integers<std::uint32_t, Shape<1000>>(4, {.low = 0, .high = 1ll << 32});
  CHECK(*std::max_element(wide.values().begin(), wide.values().end()) > 4200000000u);
}

TEST_CASE("element i depends on seed and i only") {
  const auto few = random_normal<float, Shape<dyn, 3>>(7, {}, 2), many = random_normal<float, Shape<dyn, 3>>(7, {}, 50);
  CHECK(bit_equal(few, many[Range{0, 2}]));
  CHECK(!bit_equal(few, random_normal<float, Shape<dyn, 3>>(8, {}, 2)));
  CHECK(bit_equal(random_uniform<float16, Shape<5>>(1), random_uniform<float, Shape<5>>(1).to<float16>()));
  CHECK(random_normal<float, Shape<dyn, 3>>(1, {}, 0).count() == 0);
}

TEST_CASE("empty ranges are refused") {
  using S = Shape<2>;
  CHECK_THROWS_WITH_AS((random_uniform<float, S>(1, {.low = 1, .high = 1})),
                       "random_uniform: low must be below high, got 1 and 1.", ValueError);
  CHECK_THROWS_AS((random_uniform<float, S>(1, {.low = NAN})), ValueError);
  CHECK_THROWS_WITH_AS((random_integers<int, S>(1, {.low = 5, .high = 5})),
                       "random_integers: low .. high - 1 must have 1 .. 2^32 numbers, got 5 and 5.", ValueError);
  CHECK_THROWS_AS((random_integers<std::int64_t, S>(1, {.low = INT64_MIN, .high = INT64_MAX})), ValueError);
}

TEST_CASE("uniform: high is never drawn, nor what lies below low, in any dtype and however close the two are") {
  const auto check = []<class T>(T, float low, float high) {
    CAPTURE(low);
    CAPTURE(high);
    const auto x = random_uniform<T, Shape<dyn>>(1, {.low = low, .high = high}, 200000);
    long outside = 0;
    for (const T v : x.values()) outside += !(static_cast<float>(v) >= low && static_cast<float>(v) < high);
    CHECK(outside == 0);
  };
  check(bfloat16(), 0, 1), check(float16(), 0, 1), check(float(), 0, 1);
  check(float(), 1000, 1001), check(double(), 1000, 1001), check(float(), -1, -0.9999f), check(float(), -1, 0);
  check(bfloat16(), 0.7f, 0.8f), check(bfloat16(), -0.8f, -0.7f), check(float16(), 0.1f, 0.3f),
      check(bfloat16(), -1, 0);
}

TEST_CASE("uniform: a range without a number of the dtype is refused") {
  using S = Shape<2>;
  CHECK_THROWS_WITH_AS((random_uniform<bfloat16, S>(1, {.low = 1.001f, .high = 1.002f})),
                       "random_uniform: bfloat16 has no numbers to draw from low 1.001 to high 1.002: take another "
                       "range, or another dtype.",
                       ValueError);
  CHECK_THROWS_AS((random_uniform<float, S>(1, {.low = -3e38f, .high = 3e38f})), ValueError);
  CHECK_THROWS_AS((random_uniform<float, S>(1, {.low = 0, .high = INFINITY})), ValueError);
  CHECK(random_uniform<bfloat16, S>(1, {.low = 1, .high = 1.002f}).values()[0] == bfloat16(1));
}

TEST_CASE("integers: a range that the dtype does not have is refused") {
  using S = Shape<2>;
  CHECK_THROWS_WITH_AS((random_integers<std::int8_t, S>(1, {.low = 0, .high = 129})),
                       "random_integers: int8 does not have all of the numbers 0 .. 128: take another range, or "
                       "another dtype.",
                       ValueError);
  CHECK_THROWS_AS((random_integers<std::uint8_t, S>(1, {.low = -1, .high = 2})), ValueError);
  CHECK_THROWS_AS((random_integers<bool, S>(1, {.low = 0, .high = 3})), ValueError);
  CHECK(random_integers<std::int8_t, S>(1, {.low = 127, .high = 128}).values()[0] == 127);
  CHECK(random_integers<std::uint64_t, S>(1, {.low = INT64_MAX - 1, .high = INT64_MAX}).values()[0] == INT64_MAX - 1);
  CHECK(random_integers<std::int64_t, S>(1, {.low = INT64_MIN, .high = INT64_MIN + 1}).values()[0] == INT64_MIN);
}

TEST_CASE("a stream's Gaussian numbers: mean, deviation, two words for each") {
  Random random(7);
  double sum = 0, squares = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double number = random.normal(3, 2);
    sum += number, squares += number * number;
  }
  const double mean = sum / count;
  CHECK(mean == doctest::Approx(3).epsilon(0.02));
  CHECK(std::sqrt(squares / count - mean * mean) == doctest::Approx(2).epsilon(0.02));
  Random again(9), same(9);
  const std::uint32_t first = same.word();
  float number, other;
  math::gaussian_pair(first, same.word(), number, other);
  CHECK(again.normal() == number);
  CHECK(again.word() == same.word());
}
