// stream: rows in their order only, whoever reads them; its memory does not grow. generator: rows of a function.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/operations.hpp>

using namespace support;
using namespace tenon::dataset;

namespace {

using List = Numbers::columns;

/// Numbers, one after the other.
struct Counter {
  long last, next_one = 0;
  bool next(std::span<float> point, std::span<std::int32_t> label) {
    if (next_one == last) return false;
    point[0] = static_cast<float>(next_one);
    point[1] = static_cast<float>(next_one) + 0.5f;
    label[0] = static_cast<std::int32_t>(next_one++);
    return true;
  }
};
auto numbers(long last) {
  return stream<List>([last] { return Counter{last}; });
}
bool odd(std::span<const std::int32_t> label) { return label[0] % 2 == 1; }

long resident_pages() {
  long all = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file);
  REQUIRE(std::fscanf(file, "%ld %ld", &all, &resident) == 2);
  std::fclose(file);
  return resident;
}

}  // namespace

TEST_CASE("the rows come in order, for any number of workers, and again in each epoch") {
  const auto data = numbers(103) | batch(10);
  CHECK(labels_of(data) == counted(0, 103));
  for (int workers : {1, 2, 8}) {
    auto rows = (data | prefetch(4, {.num_parallel_workers = workers})).open();
    for (std::uint64_t epoch : {0, 1, 1, 0}) {
      rows.start(epoch);
      CHECK(rest_of(rows) == counted(0, 103));
      CHECK(rows.next() == nullptr);
    }
  }
}

TEST_CASE("from the middle of an epoch, and left in the middle") {
  for (int workers : {1, 2, 8}) {
    auto rows = (numbers(1000) | batch(10) | prefetch(4, {.num_parallel_workers = workers})).open();
    for (int i = 0; i < 30; ++i) {
      rows.start(0, i);
      for (int k = 0; k < 3; ++k) CHECK(rows.next()->values<1>()[0] == 10 * (i + k));
    }
  }
}

TEST_CASE("two walks at a time have a stream each") {
  const auto data = numbers(10);
  auto first = data.open(), second = data.open();
  first.start(0);
  second.start(0);
  CHECK(first.next()->values<1>()[0] == 0);
  CHECK(second.next()->values<1>()[0] == 0);
  CHECK(first.next()->values<1>()[0] == 1);
}

TEST_CASE("stages that keep the order: filter, skip, take, zip, map") {
  const auto stages = [](auto data) {
    return data | skip(3) | rename<1, "label">() | filter<"label">(odd) |
           map<"label">([](std::int32_t x) { return 2 * x; }) | project<"label">() | take(20) | batch(3);
  };
  std::vector<int> expected;
  for (int i = 3; expected.size() < 20; i += 2) expected.push_back(2 * i);
  const auto check = [&](const auto& data) {
    std::vector<int> seen;
    for (const auto& row : data)
      for (const int label : row.template values<0>()) seen.push_back(label);
    CHECK(seen == expected);
  };
  check(stages(Numbers(1000)));
  check(stages(numbers(1000)));
  for (int workers : {2, 8}) check(stages(numbers(1000)) | prefetch(3, {.num_parallel_workers = workers}));
  CHECK(labels_of(zip(Numbers(5), numbers(7)) | prefetch(2, {.num_parallel_workers = 4})) == counted(0, 5));
  CHECK(labels_of(zip(numbers(7), numbers(5)) | prefetch(2, {.num_parallel_workers = 4})) == counted(0, 5));
}

TEST_CASE("an error of a row comes at its place, and no thread waits for ever") {
  for (int workers : {1, 2, 8}) {
    const auto data = numbers(1000) | map<1>([](std::int32_t x) {
                        if (x == 47) throw std::runtime_error("47 fails");
                        return x;
                      }) |
                      batch(10) | prefetch(8, {.num_parallel_workers = workers});
    auto rows = data.open();
    for (int again = 0; again < 20; ++again) {
      rows.start(0);
      for (int i = 0; i < 4; ++i) CHECK(rows.next()->values<1>()[0] == 10 * i);
      CHECK(
          has(message<RuntimeError>([&] { rows.next(); }), "47 fails (data set: row 4 of epoch 0, sample 47, in map"));
    }
  }
}

TEST_CASE("an endless stream with a slow reader takes no more memory") {
  constexpr int size = 64 << 10;
  struct Noise {
    int number = 0;
    bool next(std::span<float> out) {
      std::fill(out.begin(), out.end(), static_cast<float>(++number));
      return true;
    }
  };
  const auto data = stream<Columns<Column<float, Shape<size>>>>([] { return Noise(); }) | batch(8) |
                    prefetch(4, {.num_parallel_workers = 2});
  const char* const asked = std::getenv("TENON_STREAM_SECONDS");
  const double seconds = asked ? std::atof(asked) : 2;
  const auto begin = std::chrono::steady_clock::now();
  auto rows = data.open();
  rows.start(0);
  long first = 0, most = 0, batches = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds || batches < 30) {
    CHECK(rows.next()->values<0>()[0] == static_cast<float>(8 * batches + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (++batches == 10) first = resident_pages();
    if (batches > 10) most = std::max(most, resident_pages());
  }
  MESSAGE(batches, " batches of ", 8 * size * 4 / 1024, " KiB, ", most - first, " pages more than behind the tenth");
  CHECK((most - first) * ::sysconf(_SC_PAGESIZE) < 8 * size * 4);  // less than a batch
}

TEST_CASE("generator: rows of a function, in any order") {
  const auto data = generator<List>(50, [](long index, std::span<float> point, std::span<std::int32_t> label) {
    point[0] = static_cast<float>(index);
    point[1] = point[0] + 0.5f;
    label[0] = static_cast<std::int32_t>(index);
  });
  CHECK(data.size() == 50);
  CHECK(labels_of(data) == counted(0, 50));
  CHECK(labels_of(data | sample(RandomSampler{.seed = 1})) != counted(0, 50));
  CHECK(message<ValueError>([] { generator<List>(0, [](long, auto, auto) {}); }) ==
        "generator(0): the number of samples must be 1 or more.");
}

TEST_CASE("what a function leaves out is 0, not a number of an earlier sample") {
  using Sparse = Columns<Column<float, Shape<4>>, Column<std::int32_t, Shape<>>>;
  const auto one_hot = [](long index, std::span<float> x) { x[static_cast<std::size_t>(index) % 4] = 1; };
  const auto made = generator<Sparse>(8, [=](long index, std::span<float> x, auto) { one_hot(index, x); });
  struct OneHots {
    long at = 0;
    bool next(std::span<float> x, std::span<std::int32_t>) { return x[std::size_t(at % 4)] = 1, ++at <= 8; }
  };
  const auto streamed = stream<Sparse>([] { return OneHots{}; });
  const auto ragged = generator<Columns<Column<float, Ragged<any>>, Column<std::int32_t, Shape<>>>>(
      8, [=](long index, auto slot, auto) { one_hot(index, {slot.resize(4), 4}); });
  const auto mapped = made | dataset::map<0, Column<float, Shape<4>>>([](std::span<const float> in, auto out) {
                        for (std::size_t i = 0; i < 4; ++i)
                          if (in[i] != 0) out[i] = in[i];
                      });
  const auto ones = [](const auto& data) {
    std::vector<float> sums;  // of each batch, twice
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& row : data) {
        const auto x = row.template values<0>();
        sums.push_back(std::accumulate(x.begin(), x.end(), 0.0f));
      }
    return sums;
  };
  const std::vector<float> expected{4, 4, 4, 4};
  CHECK(ones(made | batch(4)) == expected);
  CHECK(ones(streamed | batch(4)) == expected);
  CHECK(ones(ragged | batch(4, dataset::pad<0>(Shape<4>{}, 0))) == expected);
  CHECK(ones(mapped | batch(4)) == expected);
}
