// prefetch: the same rows in the same order from another thread, errors too, and a clean end at any moment.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>

using namespace support;
using dataset::batch, dataset::map, dataset::prefetch;

namespace {
void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
}  // namespace

TEST_CASE("the rows and their order are those without it") {
  const auto data = Numbers(103) | dataset::shuffle(103, 1) | batch(10);
  for (long depth : {1, 2, 5, 100}) {
    const auto ahead = data | prefetch(depth);
    CHECK(ahead.size() == data.size());
    CHECK(lengths_of(ahead) == lengths_of(data));
    auto rows = ahead.open();
    for (std::uint64_t epoch : {0, 1, 7, 1}) {
      rows.start(epoch);
      CHECK(rest_of(rows) == labels_of(data, epoch));
      CHECK(rows.next() == nullptr);
      CHECK(rows.next() == nullptr);
    }
  }
  CHECK(labels_of(Numbers(9) | prefetch()) == counted(0, 9));
}

TEST_CASE("columns and batched are those of the data set before") {
  using Before = decltype(Numbers(1) | batch<1>());
  using After = decltype(Numbers(1) | batch<1>() | prefetch());
  static_assert(std::is_same_v<Before::columns, After::columns> && After::batched);
  static_assert(dataset::Dataset<After> && !dataset::Indexed<After>);
}

TEST_CASE("a row stays as it is until the next is asked for, however far the thread is ahead") {
  auto rows = (Numbers(100) | prefetch(3)).open();
  rows.start(0);
  for (int i = 0; i < 5; ++i) {
    const auto* row = rows.next();
    wait_a_little();
    CHECK(row->values<1>()[0] == i);
    CHECK(row->values<0>()[1] == static_cast<float>(i) + 0.5f);
  }
}

TEST_CASE("the thread reads depth rows ahead and then sleeps") {
  auto read = std::make_shared<std::atomic<int>>(0);
  auto rows = (Numbers(100) | map<1>([read](int i) { return ++*read, i; }) | prefetch(4)).open();
  wait_a_little();
  CHECK(*read == 0);  // not before start
  rows.start(0);
  rows.next();
  while (*read < 5) wait_a_little();
  wait_a_little();
  CHECK(*read == 5);  // the row that is held, and four more
}

TEST_CASE("start in the middle of an epoch begins anew") {
  const auto data = Numbers(200) | dataset::shuffle(200, 5) | batch(7);
  auto rows = (data | prefetch(3)).open();
  Random random(1);
  for (std::uint64_t epoch = 0; epoch < 300; ++epoch) {
    rows.start(epoch);
    const auto expected = labels_of(data, epoch);
    const std::uint32_t wanted = random.below(30);
    for (std::uint32_t i = 0; i < wanted; ++i) {
      const auto* row = rows.next();
      if (i >= 29) REQUIRE(row == nullptr);
      else REQUIRE(row->values<1>()[0] == expected[i * 7]);
    }
  }
}

TEST_CASE("an iterator can be moved, and left at any moment") {
  for (int taken = 0; taken < 20; ++taken) {
    auto rows = (Numbers(50) | prefetch(2)).open();
    if (taken > 0) rows.start(0);
    for (int i = 1; i < taken; ++i) rows.next();
    auto moved = std::move(rows);
    if (taken > 0) REQUIRE(moved.next()->values<1>()[0] == taken - 1);
    rows = std::move(moved);
  }
}

TEST_CASE("next without start begins epoch 0") {
  const auto data = Numbers(20) | dataset::shuffle(20, 1);
  auto with = (data | prefetch()).open(), again = (data | prefetch()).open();
  auto without = data.open();
  CHECK(rest_of(with) == labels_of(data, 0));
  CHECK(rest_of(without) == labels_of(data, 0));
}

TEST_CASE("what reading throws is thrown by next, after the rows before it, until the next start") {
  auto broken = std::make_shared<std::atomic<bool>>(true);
  const auto data =
      Numbers(40) | map<1>([broken](int i) { return i == 23 && *broken ? throw ValueError("row 23") : i; });
  auto rows = (data | prefetch(4)).open();
  for (int round = 0; round < 3; ++round) {
    rows.start(0);
    for (int i = 0; i < 23; ++i) REQUIRE(rows.next()->values<1>()[0] == i);
    CHECK(message<ValueError>([&] { rows.next(); }) == "row 23 (data set: row 23 of epoch 0, sample 23, in map<1>)");
    CHECK(message<ValueError>([&] { rows.next(); }) == "row 23 (data set: row 23 of epoch 0, sample 23, in map<1>)");
  }
  *broken = false;
  rows.start(0);
  CHECK(rest_of(rows) == counted(0, 40));
}

TEST_CASE("two iterators of one data set do not disturb each other") {
  const auto data = Numbers(500) | dataset::shuffle(500, 1) | batch(10) | prefetch();
  auto one = data.open(), two = data.open();
  one.start(1), two.start(2);
  std::vector<int> first, second;
  for (int i = 0; i < 50; ++i)
    first.push_back(one.next()->values<1>()[0]), second.push_back(two.next()->values<1>()[0]);
  CHECK(first != second);
  CHECK(one.next() == nullptr);
  CHECK(two.next() == nullptr);
}

TEST_CASE("illegal depths") {
  CHECK(message<ValueError>([] { prefetch(0); }) == "prefetch(0): the depth must be in 1 .. 1024; 2 is usual.");
  CHECK(has(message<ValueError>([] { prefetch(-1); }), "prefetch(-1)"));
  CHECK(has(message<ValueError>([] { prefetch(1025); }), "prefetch(1025)"));
}

TEST_CASE("several workers: the same rows in the same order, and the first error counts") {
  dataset::set_num_parallel_workers(4);
  const auto slow = map<1>([](int i) {
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    return i;
  });
  const auto data = Numbers(301) | dataset::shuffle(301, 1) | slow | batch(4);
  for (int workers : {1, 2, 8})
    for (long depth : {1, 3, 20}) {
      auto rows = (data | prefetch(depth, {.num_parallel_workers = workers})).open();
      rows.start(2);
      CHECK(rest_of(rows) == labels_of(data, 2));
      rows.start(0, 50);  // in the middle
      auto without = data.open();
      without.start(0, 50);
      CHECK(rest_of(rows) == rest_of(without));
    }
  CHECK((Numbers(1) | prefetch()).workers == 4);
  dataset::set_num_parallel_workers(1);
  const auto broken = Numbers(40) | map<1>([](int i) { return i >= 20 ? throw ValueError(text("row ", i)) : i; });
  for (int round = 0; round < 20; ++round) {
    auto rows = (broken | prefetch(8, {.num_parallel_workers = 4})).open();
    for (int i = 0; i < 20; ++i) REQUIRE(rows.next()->values<1>()[0] == i);
    CHECK(has(message<ValueError>([&] { rows.next(); }), "row 20 ("));
  }
  CHECK(has(message<ValueError>([] { prefetch(2, {.num_parallel_workers = 0}); }), "legal are 1 .. 256"));
  CHECK(has(message<ValueError>([] { dataset::set_num_parallel_workers(257); }), "legal are 1 .. 256"));
}
