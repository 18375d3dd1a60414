// Philox4x32-10 against the known answers of Random123 (kat_vectors), and what is built on it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {
constexpr bool gives(std::uint64_t key, std::uint64_t low, std::uint64_t high, Philox4 expected) {
  const Philox4 found = philox(key, low, high);
  for (int i = 0; i < 4; ++i)
    if (found.word[i] != expected.word[i]) return false;
  return true;
}
}  // namespace

TEST_CASE("known answers: zeros, ones, the digits of pi") {
  static_assert(gives(0, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  static_assert(gives(~0ull, ~0ull, ~0ull, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  static_assert(gives(0x299f31d0a4093822ull, 0x85a308d3243f6a88ull, 0x0370734413198a2eull,
                      {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
  CHECK(gives(0, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
}

TEST_CASE("a stream is the sequence of blocks") {
  Random random(42);
  for (std::uint64_t block = 0; block < 5; ++block)
    for (int i = 0; i < 4; ++i) CHECK(random.word() == philox(42, block).word[i]);
}

TEST_CASE("uniform numbers lie in [0, 1) and fill it") {
  CHECK(unit_float(0) == 0.0f);
  CHECK(unit_float(~0u) < 1.0f);
  CHECK(unit_float(0x80000000u) == 0.5f);
  Random random(1);
  double sum = 0, squares = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double x = random.uniform();
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / count - 0.5) < 0.005);  // five standard deviations
  CHECK(std::abs(squares / count - 1.0 / 3) < 0.005);
}

TEST_CASE("below stays below, and each number comes equally often") {
  Random random(2);
  std::vector<int> hits(7);
  for (int i = 0; i < 70000; ++i) ++hits[random.below(7)];
  for (int h : hits) CHECK(std::abs(h - 10000) < 500);
  Random word(3), same(3);
  CHECK(word.below(1ull << 32) == same.word());
  CHECK(word.below(1) == 0);
  Random bounded(4);
  for (int i = 0; i < 1000; ++i) {
    const float x = bounded.uniform(-2, 3);
    CHECK((x >= -2 && x < 3));
  }
}

TEST_CASE("hashes: FNV-1a's published values, chained calls, no collisions of numbers mixed into hashes") {
  CHECK(hash_bytes("", 0) == 0xcbf29ce484222325ull);
  CHECK(hash_bytes("a", 1) == 0xaf63dc4c8601ec8cull);
  CHECK(hash_bytes("foobar", 6) == 0x85944171f73967e8ull);
  CHECK(hash_bytes("bar", 3, hash_bytes("foo", 3)) == hash_bytes("foobar", 6));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (std::uint64_t number = 0; number < 100; ++number) seen.insert(hash_number(number, hash_number(seed, 0)));
  CHECK(seen.size() == 10000);
}

TEST_CASE("small numbers and small seeds give different hashes") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (std::uint64_t number = 0; number < 200; ++number) seen.insert(hash_number(number, seed));
  CHECK(seen.size() == 200 * 200);
}

TEST_CASE("a stream's uniform numbers never are the upper bound, and an empty range is its lower one") {
  Random random(1);
  long outside = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float near = random.uniform(1000, 1001), below_zero = random.uniform(-1, 0);
    outside += !(near >= 1000 && near < 1001) + !(below_zero >= -1 && below_zero < 0);
  }
  CHECK(outside == 0);
  CHECK(random.uniform(3, 3) == 3);
  static_assert(next_below(1) == 1 - 0x1p-24f && next_below(-1) == -1 - 0x1p-23f);
  static_assert(next_below(0) == -0x1p-126f && next_below(-0x1p-126f) < -0x1p-126f && next_below(0x1p-126f) == 0);
  static_assert(float(largest_below<bfloat16>(1)) == 1 - 0x1p-8f && float(largest_below<float16>(-1)) == -1 - 0x1p-10f);
  static_assert(float(largest_below<bfloat16>(0.3f)) < 0.3f && float(largest_below<float16>(0)) < 0);
}
