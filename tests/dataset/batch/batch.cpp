// batch: lengths, the short last batch, types, sizes that a function gives.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>
#include <atomic>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/batch_of_size.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/source/stream.hpp>

using namespace support;
using dataset::batch;

TEST_CASE("batch(n) keeps the short last batch") {
  const auto data = Numbers(23) | batch(5);
  CHECK(data.size() == 5);
  CHECK(lengths_of(data) == std::vector<long>{5, 5, 5, 5, 3});
  CHECK(labels_of(data) == counted(0, 23));
  CHECK(lengths_of(Numbers(20) | batch(5)) == std::vector<long>{5, 5, 5, 5});
  CHECK(lengths_of(Numbers(3) | batch(5)) == std::vector<long>{3});
  CHECK((Numbers(3) | batch(1L << 60)).max_rows() == 3);  // no memory for more than there is
}

TEST_CASE("batch<N>() and drop_remainder leave it out") {
  for (int size : {20, 23, 24}) {
    CHECK(lengths_of(Numbers(size) | batch<5>()) == std::vector<long>{5, 5, 5, 5});
    CHECK(labels_of(Numbers(size) | batch<5>()) == counted(0, 20));
    CHECK(labels_of(Numbers(size) | batch(5, {.drop_remainder = true})) == counted(0, 20));
  }
}

TEST_CASE("the types of the columns") {
  using Dynamic = decltype(Numbers(1) | batch(5));
  using Static = decltype(Numbers(1) | batch<5>());
  static_assert(std::is_same_v<Dynamic::columns, dataset::Columns<dataset::Column<float, Shape<dyn, 2>>,
                                                                  dataset::Column<std::int32_t, Shape<dyn>>>>);
  static_assert(
      std::is_same_v<Static::columns,
                     dataset::Columns<dataset::Column<float, Shape<5, 2>>, dataset::Column<std::int32_t, Shape<5>>>>);
  static_assert(Dynamic::batched && Static::batched && !Numbers::batched);
  for (const auto& row : Numbers(7) | batch(4)) CHECK(shape_text(row[0].shape()) == text("[", row.n, ", 2]"));
  for (const auto& row : Numbers(7) | batch<4>()) CHECK(shape_text(row[0].shape()) == "[4, 2]");
}

TEST_CASE("illegal sizes") {
  CHECK(message<ValueError>([] { batch(0); }) == "batch(0): the batch size must be 1 or more.");
  CHECK(message<ValueError>([] { batch(-32); }) == "batch(-32): the batch size must be 1 or more.");
  CHECK(has(message<ValueError>([] { Numbers(4) | batch<5>(); }), "A batch of 5 of 4 samples: there is no full batch"));
  CHECK(has(message<ValueError>([] { Numbers(0) | batch(5); }),
            "A batch of 5 of 0 samples: the stages before batch leave none"));
  CHECK(
      has(message<ValueError>([] { Numbers(4) | batch(5, {.drop_remainder = true}); }), "Use a batch size of 1 .. 4"));
}

TEST_CASE("a batch that no memory holds is refused where the number of samples does not bound it") {
  const long huge = 1L << 62;
  CHECK(lengths_of(Numbers(5) | batch(huge)) == std::vector<long>{5});
  const auto some = Numbers(5) | dataset::filter<1>([](auto label) { return label[0] != 3; });
  CHECK(message<ValueError>([&] { (some | batch(huge)).open(); }) ==
        "Rows of up to 4611686018427387904 samples with 8 bytes in a column are larger than any memory. Use a smaller "
        "batch size.");
  CHECK_THROWS_AS((some | batch(huge) | dataset::prefetch()).open(), ValueError);
  CHECK_THROWS_AS((some | batch(1L << 59)).open(), OutOfMemory);
}

TEST_CASE("batch(n, f): sizes that a function gives, in every epoch, from any thread, and from the middle on") {
  const auto rising = [](const dataset::BatchInfo& info) {
    CHECK(info.n == 4);
    return (info.batch_num + long(info.epoch_num)) % 4 + 1;
  };
  const auto data = Numbers(23) | batch(4, rising);
  static_assert(std::is_same_v<decltype(data)::columns, decltype(Numbers(1) | batch(5))::columns>);
  CHECK(lengths_of(data) == std::vector<long>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2});
  CHECK(data.size() == 10);
  CHECK(data.count(2) == 9);  // 3 4 1 2 3 4 1 2 3
  CHECK(lengths_of(Numbers(2) | batch(4, rising)) == std::vector<long>{1, 1});
  CHECK((Numbers(3) | batch(1L << 60, [](dataset::BatchInfo) { return 1; })).max_rows() == 3);
  for (const std::uint64_t epoch : {0u, 1u, 2u, 0u}) {
    CHECK(labels_of(data, epoch) == counted(0, 23));
    for (const int workers : {1, 2, 8})
      for (const long from : {0, 3, 9}) {
        auto direct = (Numbers(23) | batch(4, rising)).open();
        auto ahead = (data | dataset::prefetch(3, {.num_parallel_workers = workers})).open();
        direct.start(epoch, from);
        ahead.start(epoch, from);
        CHECK(rest_of(direct) == rest_of(ahead));
      }
  }
  auto rows = data.open();
  rows.start(0, 3);
  CHECK(rest_of(rows) == counted(6, 23));
}

TEST_CASE("batch(n, f) behind filter and of a stream, whose ends are not known before") {
  const auto doubling = [](const dataset::BatchInfo& info) { return info.batch_num < 3 ? 1 << info.batch_num : 5; };
  const auto low = Numbers(40) | dataset::filter<1>([](std::span<const std::int32_t> x) { return x[0] < 11; });
  CHECK(lengths_of(low | batch(5, doubling)) == std::vector<long>{1, 2, 4, 4});
  const auto batches = low | batch(5, doubling);
  CHECK(labels_of(batches | dataset::prefetch(8, {.num_parallel_workers = 4})) == counted(0, 11));
  CHECK(batches.size() == 4);
  struct Counter {
    std::int32_t last = -1;
    bool next(std::span<float> point, std::span<std::int32_t> number) {
      number[0] = ++last;
      point[0] = float(last);
      point[1] = float(last) + 0.5f;
      return last < 11;
    }
  };
  const auto stream = dataset::stream<Numbers::columns>([] { return Counter(); }) | batch(5, doubling);
  CHECK(lengths_of(stream) == std::vector<long>{1, 2, 4, 4});
  CHECK(labels_of(stream | dataset::prefetch(8, {.num_parallel_workers = 4})) == counted(0, 11));
}

TEST_CASE("repeat, shuffle, and shard behind batch(n, f), and how often f is called") {
  std::atomic<int> calls = 0;
  const auto rising = [&](const dataset::BatchInfo& info) {
    ++calls;
    return (info.batch_num + long(info.epoch_num)) % 4 + 1;
  };
  const auto data = Numbers(23) | batch(4, rising);
  const std::vector<long> first{1, 2, 3, 4, 1, 2, 3, 4, 1, 2}, second{2, 3, 4, 1, 2, 3, 4, 1, 2, 1};  // of epochs 0, 1
  SUBCASE("repeat: each pass is an epoch") {
    const auto twice = data | dataset::repeat(2);
    std::vector<long> lengths = first;
    lengths.insert(lengths.end(), second.begin(), second.end());
    CHECK(twice.size() == 20);
    CHECK(lengths_of(twice) == lengths);
    std::vector<int> labels = counted(0, 23);
    labels.insert(labels.end(), labels.begin(), labels.end());
    CHECK(labels_of(twice) == labels);
    CHECK(labels_of(twice | dataset::prefetch(3, {.num_parallel_workers = 4})) == labels);
  }
  SUBCASE("shuffle: the same batches in another order") {
    const auto mixed = data | dataset::shuffle(100, 5);
    CHECK(mixed.size() == 10);
    std::vector<long> lengths, begins;
    for (const auto& row : mixed) {
      lengths.push_back(row.n);
      begins.push_back(row.values<1>()[0]);
      CHECK(row.values<1>().back() == row.values<1>()[0] + row.n - 1);
    }
    CHECK(!std::ranges::is_sorted(begins));
    std::ranges::sort(begins);
    CHECK(begins == std::vector<long>{0, 1, 3, 6, 10, 11, 13, 16, 20, 21});
    CHECK(labels_of(mixed | dataset::prefetch(3, {.num_parallel_workers = 4})) == labels_of(mixed));
  }
  SUBCASE("shard: every third batch, the first ones again at the end") {
    const auto part = [&](long shard) { return data | dataset::shard({.num_shards = 3, .shard_id = shard}); };
    CHECK(part(0).size() == 4);
    CHECK(lengths_of(part(0)) == std::vector<long>{1, 4, 3, 2});
    CHECK(lengths_of(part(1)) == std::vector<long>{2, 1, 4, 1});
    CHECK(labels_of(part(2)) == std::vector<int>{3, 4, 5, 11, 12, 20, 1, 2});
    CHECK(labels_of(part(2), 1) == std::vector<int>{5, 6, 7, 8, 12, 13, 14, 20, 21, 2, 3, 4});
  }
  SUBCASE("calls: one for each batch of an epoch that is kept, whoever asks") {
    CHECK(data.size() == 10);
    CHECK(calls == 10);
    const auto ahead = data | dataset::prefetch(3, {.num_parallel_workers = 4});
    for (int time = 0; time < 3; ++time) {
      CHECK(labels_of(data) == labels_of(ahead));
      CHECK(data.count(0) == 10);
    }
    CHECK(calls == 10);
    for (const std::uint64_t epoch : {1u, 0u, 1u}) labels_of(data, epoch);
    CHECK(calls == 20);
    labels_of(data, 2);  // 9 batches; the list of epoch 0 goes
    CHECK(calls == 29);
    labels_of(data, 1);
    CHECK(calls == 29);
    labels_of(data, 0);
    CHECK(calls == 39);
  }
}

TEST_CASE("batch(n, f): an error of f names the row and the stage") {
  const auto broken = [](const dataset::BatchInfo& info) {
    if (info.batch_num == 5) throw_error<ValueError>("5 is broken.");
    return 4;
  };
  const auto data = Numbers(40) | dataset::shuffle(40) | batch(4, broken);
  const std::string said = "5 is broken. (data set: row 5 of epoch 0, in batch)";
  CHECK(message<ValueError>([&] { labels_of(data); }) == said);
  CHECK(message<ValueError>([&] { labels_of(data | dataset::prefetch(3, {.num_parallel_workers = 2})); }) == said);
}

TEST_CASE("batch(n, f): illegal sizes name the batch") {
  const auto falling = [](const dataset::BatchInfo& info) { return 3 - info.batch_num; };
  const auto walked = [&](auto data) { return message<ValueError>([&] { labels_of(data); }); };
  CHECK(labels_of(Numbers(6) | batch(3, falling)) == counted(0, 6));
  CHECK(has(walked(Numbers(7) | batch(3, falling)),
            "batch(3, f): f gives batch 3 of epoch 0 a size of 0; 1 to 3 samples are possible."));
  CHECK(has(walked(Numbers(7) | batch(2, falling)), "f gives batch 0 of epoch 0 a size of 3; 1 to 2 samples"));
  CHECK(has(message<ValueError>([&] { (Numbers(7) | batch(3, falling)).size(); }), "batch 3 of epoch 0 a size of 0"));
  CHECK(has(walked(Numbers(7) | batch(3, falling) | dataset::prefetch(2)), "batch 3 of epoch 0 a size of 0"));
  CHECK(message<ValueError>([&] { batch(0, falling); }) == "batch(0): the batch size must be 1 or more.");
  CHECK(has(message<ValueError>([&] { Numbers(0) | batch(5, falling); }), "A batch of 5 of 0 samples"));
}
