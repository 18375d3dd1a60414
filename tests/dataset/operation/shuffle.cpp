// shuffle: all rows once per epoch, in an order of (seed, epoch).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>

#include <tenon/core/context.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>

using namespace support;
using dataset::shuffle;

namespace {
std::vector<int> sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values;
}
}  // namespace

TEST_CASE("a full buffer permutes all rows, another way in each epoch and for each seed") {
  for (int size : {1, 2, 3, 10, 1000}) {
    const auto data = Numbers(size) | shuffle(size, 1);
    CHECK(data.size() == size);
    CHECK(sorted(labels_of(data, 0)) == counted(0, size));
    CHECK(labels_of(data, 5) == labels_of(data, 5));
  }
  const auto data = Numbers(1000) | shuffle(1000, 1);
  CHECK(labels_of(data, 0) != counted(0, 1000));
  CHECK(labels_of(data, 0) != labels_of(data, 1));
  CHECK(labels_of(data, 0) != labels_of(Numbers(1000) | shuffle(1000, 2), 0));
  CHECK(labels_of(data, 0) == labels_of(Numbers(1000) | shuffle(999999, 1), 0));
}

TEST_CASE("the order of (seed, epoch) is fixed for ever: a stored run can be repeated") {
  CHECK(labels_of(Numbers(10) | shuffle(10, 1), 0) == std::vector<int>{8, 5, 3, 7, 2, 0, 1, 6, 4, 9});
  CHECK(labels_of(Numbers(10) | shuffle(10, 1), 1) == std::vector<int>{6, 7, 5, 4, 1, 3, 9, 0, 8, 2});
  CHECK(labels_of(Numbers(20) | shuffle(20, 1), 0) ==
        std::vector<int>{14, 16, 12, 10, 15, 4, 0, 8, 2, 13, 6, 17, 7, 3, 5, 19, 1, 9, 18, 11});
}

TEST_CASE("a small buffer permutes windows, and rows do not leave them") {
  const auto labels = labels_of(Numbers(1003) | shuffle(100, 1));
  REQUIRE(labels.size() == 1003);
  CHECK(labels != counted(0, 1003));
  std::vector<std::vector<int>> windows;
  for (int first = 0; first < 1003; first += 100) {
    const int last = std::min(first + 100, 1003);
    std::vector<int> window(labels.begin() + first, labels.begin() + last);
    CHECK(sorted(window) == counted(first, last));
    for (int& label : window) label -= first;
    windows.push_back(window);
  }
  CHECK(windows[0] != windows[1]);  // each in its own way
  CHECK(labels_of(Numbers(50) | shuffle(1, 1)) == counted(0, 50));
}

TEST_CASE("an epoch can be left and begun again at any time") {
  auto rows = (Numbers(100) | shuffle(100, 3)).open();
  rows.start(4);
  const auto whole = rest_of(rows);
  CHECK(rows.next() == nullptr);
  CHECK(rows.next() == nullptr);
  rows.start(9);
  rows.next();
  rows.start(4);
  CHECK(rest_of(rows) == whole);
}

TEST_CASE("without a seed, the context's at the time of writing") {
  CHECK(dataset::default_seed() == 0);
  const auto with_zero = Numbers(100) | shuffle(100);
  const auto with_seed = [](std::uint64_t seed) {
    const ContextScope scope({.seed = seed});
    return Numbers(100) | shuffle(100);
  };
  const auto with_1 = with_seed(1), with_2 = with_seed(2);
  CHECK(labels_of(with_zero) == labels_of(Numbers(100) | shuffle(100, 0)));
  CHECK(labels_of(with_1) == labels_of(Numbers(100) | shuffle(100, 1)));
  CHECK(labels_of(with_2) == labels_of(Numbers(100) | shuffle(100, 2)));
  CHECK(labels_of(with_1) != labels_of(with_2));
}

TEST_CASE("the data sets' own seed goes before the context's, 0 too, until it is taken back") {
  const ContextScope scope({.seed = 5});
  dataset::set_seed(77);
  const auto with_77 = Numbers(100) | shuffle(100);
  dataset::set_seed(0);
  CHECK(dataset::default_seed() == 0);
  dataset::set_seed(std::nullopt);
  CHECK(dataset::default_seed() == 5);
  CHECK(labels_of(with_77) == labels_of(Numbers(100) | shuffle(100, 77)));
}

TEST_CASE("after batch, whole batches change places") {
  const auto data = Numbers(23) | dataset::batch(5) | shuffle(5, 2);
  CHECK(sorted(labels_of(data)) == counted(0, 23));
  CHECK(labels_of(data) != counted(0, 23));
  for (const auto& row : data) {
    const int first = row.values<1>()[0];
    CHECK(first % 5 == 0);
    CHECK(row.n == (first == 20 ? 3 : 5));
  }
}

TEST_CASE("an empty buffer") {
  CHECK(message<ValueError>([] { shuffle(0); }) == "shuffle(0): the buffer size must be 1 or more.");
  CHECK(message<ValueError>([] { shuffle(-1); }) == "shuffle(-1): the buffer size must be 1 or more.");
}
