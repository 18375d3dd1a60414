// The order of a shuffle: a bijection for every size, and fair.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <tenon/dataset/sampler/permutation.hpp>

using namespace tenon;
using dataset::Permutation;

namespace {
std::vector<long> all(long size, std::uint64_t key) {
  const Permutation order(size, key);
  std::vector<long> result;
  for (long i = 0; i < size; ++i) result.push_back(order(i));
  return result;
}
bool is_bijection(std::vector<long> values) {
  std::sort(values.begin(), values.end());
  for (long i = 0; i < static_cast<long>(values.size()); ++i)
    if (values[static_cast<std::size_t>(i)] != i) return false;
  return true;
}
}  // namespace

TEST_CASE("every size is a bijection") {
  for (long size = 1; size <= 300; ++size)
    for (std::uint64_t key = 0; key < 4; ++key) REQUIRE(is_bijection(all(size, key)));
  for (long size : {4095L, 4096L, 4097L, 60000L, 65537L}) REQUIRE(is_bijection(all(size, 7)));
}

TEST_CASE("in constant evaluation as at run time") {
  constexpr long third = Permutation(1000, 5)(3);
  CHECK(third == all(1000, 5)[3]);
}

TEST_CASE("keys give different orders, and a row hardly ever stays") {
  CHECK(all(1000, 1) != all(1000, 2));
  long fixed = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const auto order = all(1000, key);
    for (long i = 0; i < 1000; ++i) fixed += order[static_cast<std::size_t>(i)] == i;
  }
  CHECK(fixed > 60);  // one per order is expected: 100 with a deviation of 10
  CHECK(fixed < 140);
}

TEST_CASE("each of the 24 orders of four rows comes equally often") {
  std::map<std::vector<long>, long> seen;
  for (std::uint64_t key = 0; key < 24000; ++key) ++seen[all(4, hash_number(key, 0))];
  CHECK(seen.size() == 24);
  double chi = 0;
  for (const auto& [order, count] : seen) chi += static_cast<double>((count - 1000) * (count - 1000)) / 1000;
  CHECK(chi < 53);  // 23 degrees of freedom: exceeded by chance once in 3000
}

TEST_CASE("each order of five to seven rows comes equally often") {
  for (const long size : {5L, 6L, 7L}) {
    CAPTURE(size);
    long orders = 1;
    for (long i = 2; i <= size; ++i) orders *= i;
    std::map<std::vector<long>, long> seen;
    for (std::uint64_t key = 0; key < std::uint64_t(60 * orders); ++key) ++seen[all(size, hash_number(key, 0))];
    double chi = 60 * static_cast<double>(orders - static_cast<long>(seen.size()));
    for (const auto& [order, count] : seen) chi += static_cast<double>((count - 60) * (count - 60)) / 60;
    const double freedom = static_cast<double>(orders - 1);
    CHECK(std::fabs(chi - freedom) < 4 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("of sixteen rows any three stand at any three places equally often, and half of the orders are even") {
  constexpr long size = 16, places = size * (size - 1) * (size - 2);
  std::vector<long> seen(size * size * size);
  long odd = 0;
  for (std::uint64_t key = 0; key < 40 * places; ++key) {
    std::vector<long> order = all(size, hash_number(key, 1));
    long swaps = 0;
    ++seen[static_cast<std::size_t>((order[0] * size + order[7]) * size + order[15])];
    for (long i = 0; i < size; ++i)
      for (long& here = order[static_cast<std::size_t>(i)]; here != i; ++swaps)
        std::swap(here, order[static_cast<std::size_t>(here)]);
    odd += swaps & 1;
  }
  double chi = 0;
  for (const long count : seen)
    if (count) chi += static_cast<double>((count - 40) * (count - 40)) / 40;
  CHECK(std::fabs(chi - places) < 4 * std::sqrt(2.0 * places));
  CHECK(std::fabs(static_cast<double>(odd) - 20.0 * places) < 4 * std::sqrt(10.0 * places));
}

TEST_CASE("each row comes to each place equally often, neighbours do not stay together") {
  constexpr long size = 50, rounds = 20000;
  std::vector<long> table(size * size);
  long neighbours = 0;
  for (std::uint64_t key = 0; key < rounds; ++key) {
    const auto order = all(size, hash_number(key, 1));
    for (long i = 0; i < size; ++i) ++table[static_cast<std::size_t>(i * size + order[static_cast<std::size_t>(i)])];
    for (long i = 1; i < size; ++i)
      neighbours += order[static_cast<std::size_t>(i)] == order[static_cast<std::size_t>(i) - 1] + 1;
  }
  double chi = 0;
  for (long count : table) chi += static_cast<double>((count - 400) * (count - 400)) / 400;
  CHECK(chi > 2100);  // 2401 degrees of freedom, deviation 69
  CHECK(chi < 2700);
  CHECK(neighbours > 18800);  // 49/50 per order: 19600 with a deviation of 140
  CHECK(neighbours < 20400);
}
