// repeat: several passes, each shuffled anew.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>

using namespace support;
using dataset::repeat;

TEST_CASE("the data set several times") {
  const auto data = Numbers(3) | repeat(2);
  CHECK(data.size() == 6);
  CHECK(labels_of(data) == std::vector<int>{0, 1, 2, 0, 1, 2});
  CHECK(labels_of(Numbers(3) | repeat(1)) == counted(0, 3));
}

TEST_CASE("a batch after it crosses the seam, one before it does not") {
  CHECK(lengths_of(Numbers(3) | repeat(2) | dataset::batch(4)) == std::vector<long>{4, 2});
  CHECK(lengths_of(Numbers(3) | dataset::batch(2) | repeat(2)) == std::vector<long>{2, 1, 2, 1});
}

TEST_CASE("epoch e of repeat(2) is epochs 2e and 2e + 1 of the shuffle before it") {
  const auto once = Numbers(50) | dataset::shuffle(50, 1);
  for (std::uint64_t epoch : {0, 3}) {
    auto expected = labels_of(once, 2 * epoch);
    const auto second = labels_of(once, 2 * epoch + 1);
    CHECK(expected != second);
    expected.insert(expected.end(), second.begin(), second.end());
    CHECK(labels_of(once | repeat(2), epoch) == expected);
  }
}

TEST_CASE("a shuffle after it mixes the passes") {
  auto labels = labels_of(Numbers(50) | repeat(2) | dataset::shuffle(100, 1));
  CHECK(std::vector<int>(labels.begin(), labels.begin() + 50) != counted(0, 50));
  std::vector<int> count(50);
  for (int label : labels) ++count[static_cast<std::size_t>(label)];
  CHECK(count == std::vector<int>(50, 2));
}

TEST_CASE("illegal counts") {
  CHECK(message<ValueError>([] { repeat(0); }) == "repeat(0): the number of passes must be 1 or more.");
  CHECK(message<ValueError>([] { repeat(-1); }) == "repeat(-1): the number of passes must be 1 or more.");
  CHECK(
      has(message<ValueError>([] { Numbers(4) | repeat(1L << 62); }), "of 4 rows makes more rows than can be counted"));
}
