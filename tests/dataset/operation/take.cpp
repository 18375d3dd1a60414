// take: the first samples or batches.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/operation/take.hpp>

using namespace support;
using dataset::take;

TEST_CASE("the first samples, all if there are fewer") {
  CHECK(labels_of(Numbers(10) | take(4)) == counted(0, 4));
  CHECK((Numbers(10) | take(4)).size() == 4);
  CHECK(labels_of(Numbers(10) | take(10)) == counted(0, 10));
  CHECK(labels_of(Numbers(10) | take(1000)) == counted(0, 10));
}

TEST_CASE("batches after batch, samples before it") {
  CHECK(labels_of(Numbers(10) | dataset::batch(3) | take(2)) == counted(0, 6));
  CHECK(lengths_of(Numbers(10) | take(4) | dataset::batch(3)) == std::vector<long>{3, 1});
}

TEST_CASE("after shuffle the first of its order, before shuffle the first of the file") {
  const auto shuffled = Numbers(100) | dataset::shuffle(100, 1);
  const auto all = labels_of(shuffled, 2);
  CHECK(labels_of(shuffled | take(7), 2) == std::vector<int>(all.begin(), all.begin() + 7));
  for (int label : labels_of(Numbers(100) | take(7) | dataset::shuffle(100, 1))) CHECK(label < 7);
}

TEST_CASE("illegal counts") {
  CHECK(message<ValueError>([] { take(0); }) == "take(0): the number of rows must be 1 or more.");
  CHECK(message<ValueError>([] { take(-1); }) == "take(-1): the number of rows must be 1 or more.");
}
