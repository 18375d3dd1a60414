// Samplers and shards: which rows, by numbers worked out by hand, and what is wrong with numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/operations.hpp>

using namespace support;
using namespace tenon::dataset;

namespace {
using Labels = std::vector<int>;
Labels sorted(Labels values) {
  std::sort(values.begin(), values.end());
  return values;
}
Labels shard_of(long rows, long num_shards, long shard_id, ShardRule rule = ShardRule::wrap) {
  return labels_of(Numbers(rows) | shard({.num_shards = num_shards, .shard_id = shard_id, .rule = rule}));
}
}  // namespace

TEST_CASE("shards of 10 rows for 4: MindSpore's rule wraps, exact repeats nothing, drop leaves the last ones out") {
  CHECK(shard_of(10, 4, 0) == Labels{0, 4, 8});
  CHECK(shard_of(10, 4, 1) == Labels{1, 5, 9});
  CHECK(shard_of(10, 4, 2) == Labels{2, 6, 0});
  CHECK(shard_of(10, 4, 3) == Labels{3, 7, 1});
  CHECK(shard_of(10, 4, 1, ShardRule::exact) == Labels{1, 5, 9});
  CHECK(shard_of(10, 4, 2, ShardRule::exact) == Labels{2, 6});
  CHECK(shard_of(10, 4, 1, ShardRule::drop) == Labels{1, 5});
  CHECK(shard_of(2, 5, 4) == Labels{0});  // fewer rows than shards: (5 * 0 + 4) mod 2
  CHECK(shard_of(10, 1, 0) == counted(0, 10));
}

TEST_CASE("8 exact shards have every row once; shuffled, in another order in each epoch") {
  const auto data = Numbers(101) | shuffle(101, 7);
  for (std::uint64_t epoch : {0, 1, 2}) {
    Labels all;
    for (long id = 0; id < 8; ++id)
      for (int label : labels_of(data | shard({.num_shards = 8, .shard_id = id, .rule = ShardRule::exact}), epoch))
        all.push_back(label);
    CHECK(sorted(all) == counted(0, 101));
  }
  const auto third = data | shard({.num_shards = 8, .shard_id = 3});
  CHECK(labels_of(third, 0).size() == 13);
  CHECK(labels_of(third, 0) != labels_of(third, 1));
}

TEST_CASE("shards of what is not counted") {
  const auto data = Numbers(20) | rename<1, "label">() | filter<"label">([](auto label) { return label[0] % 2 == 0; });
  CHECK(labels_of(data | shard({.num_shards = 4, .shard_id = 3})) == Labels{6, 14, 2});
  CHECK((data | shard({.num_shards = 4, .shard_id = 3, .rule = ShardRule::exact})).size() == 2);
}

TEST_CASE("DistributedSampler: shuffled unless told not to, num_samples, offset") {
  const auto part = [](DistributedSampler sampler) { return labels_of(Numbers(10) | sample(sampler)); };
  CHECK(part({.num_shards = 4, .shard_id = 3, .shuffle = false}) == Labels{3, 7, 1});
  CHECK(part({.num_shards = 4, .shard_id = 3, .shuffle = false, .num_samples = 2}) == Labels{3, 7});
  // the first row goes to shard 3, the second to shard 0
  CHECK(part({.num_shards = 4, .shard_id = 3, .shuffle = false, .offset = 3}) == Labels{0, 4, 8});
  CHECK(part({.num_shards = 4, .shard_id = 0, .shuffle = false, .offset = 3}) == Labels{1, 5, 9});
  CHECK(part({.num_shards = 4, .shard_id = 1, .shuffle = false, .offset = 3}) == Labels{2, 6});
  CHECK(part({.num_shards = 4, .shard_id = 2, .shuffle = false, .offset = 3}) == Labels{3, 7});
  Labels all;
  for (long id = 0; id < 5; ++id)
    for (int label : part({.num_shards = 5, .shard_id = id, .seed = 2})) all.push_back(label);
  CHECK(all != counted(0, 10));
  CHECK(sorted(all) == counted(0, 10));
}

TEST_CASE("SequentialSampler and SubsetSampler") {
  CHECK(labels_of(Numbers(10) | sample(SequentialSampler{})) == counted(0, 10));
  CHECK(labels_of(Numbers(10) | sample(SequentialSampler{.start_index = 4, .num_samples = 3})) == Labels{4, 5, 6});
  CHECK(labels_of(Numbers(10) | sample(SequentialSampler{.start_index = 8, .num_samples = 30})) == Labels{8, 9});
  CHECK(labels_of(Numbers(10) | sample(SubsetSampler{.indices = {4, 2, 4}})) == Labels{4, 2, 4});
  CHECK(labels_of(Numbers(10) | sample(SubsetSampler{.indices = {4, 2, 4}, .num_samples = 2})) == Labels{4, 2});
  const auto subset = Numbers(10) | sample(SubsetRandomSampler{.indices = {1, 3, 5, 7, 9}, .seed = 1});
  CHECK(sorted(labels_of(subset)) == Labels{1, 3, 5, 7, 9});
  CHECK((labels_of(subset, 0) != labels_of(subset, 1) || labels_of(subset, 0) != labels_of(subset, 2)));
}

TEST_CASE("RandomSampler: each row once, or drawn of all again and again") {
  const auto once = Numbers(100) | sample(RandomSampler{.seed = 1});
  CHECK(sorted(labels_of(once)) == counted(0, 100));
  CHECK(labels_of(once, 0) != labels_of(once, 1));
  CHECK(labels_of(Numbers(100) | sample(RandomSampler{.num_samples = 7, .seed = 1})).size() == 7);
  const auto drawn = Numbers(1000) | sample(RandomSampler{.replacement = true, .seed = 1});
  const Labels labels = labels_of(drawn);
  CHECK(labels.size() == 1000);
  const std::size_t different = std::set<int>(labels.begin(), labels.end()).size();
  CHECK(different > 580);  // 632 are expected of 1000, with a standard deviation below 10
  CHECK(different < 685);
  CHECK(labels_of(drawn | prefetch(3, {.num_parallel_workers = 8})) == labels);
}

TEST_CASE("WeightedRandomSampler: as often as the weights say") {
  const auto drawn = Numbers(4000) | sample(WeightedRandomSampler{.weights = {1, 0, 3, 4}, .seed = 1});
  std::map<int, int> times;
  for (int label : labels_of(drawn)) ++times[label];
  CHECK(times.size() == 3);
  CHECK(std::abs(times[0] - 500) < 100);  // standard deviations: 21, 31, 32
  CHECK(std::abs(times[2] - 1500) < 150);
  CHECK(std::abs(times[3] - 2000) < 150);
  std::map<int, int> first;
  const auto order = Numbers(4) | sample(WeightedRandomSampler{
                                      .weights = {1, 0, 3, 4}, .num_samples = 3, .replacement = false, .seed = 1});
  for (std::uint64_t epoch = 0; epoch < 800; ++epoch) {
    const Labels labels = labels_of(order, epoch);
    CHECK(sorted(labels) == Labels{0, 2, 3});
    ++first[labels[0]];
  }
  CHECK(std::abs(first[0] - 100) < 45);
  CHECK(std::abs(first[2] - 300) < 65);
  CHECK(std::abs(first[3] - 400) < 65);
}

TEST_CASE("WeightedRandomSampler: weights of any size draw as those in the same proportion") {
  const auto drawn = [](double unit, bool replacement) {
    return labels_of(
        Numbers(4) |
        sample(WeightedRandomSampler{
            .weights = {unit, 0, 4 * unit, 4 * unit}, .num_samples = 3, .replacement = replacement, .seed = 1}));
  };
  for (const bool replacement : {true, false})
    for (const double unit : {0x1p1021, 0x1p-1074, 0x1p-1000}) CHECK(drawn(unit, replacement) == drawn(1, replacement));
  const auto far = Numbers(3) | sample(WeightedRandomSampler{.weights = {1e-300, 1e300, 1e-300}, .replacement = false});
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    CHECK(labels_of(far, epoch)[0] == 1);
    CHECK(sorted(labels_of(far, epoch)) == counted(0, 3));
  }
  const auto each = Numbers(2000) | sample(WeightedRandomSampler{.weights = {1e308, 1e308, 1e308}, .seed = 1});
  std::map<int, int> times;
  for (int label : labels_of(each)) ++times[label];
  for (int row = 0; row < 3; ++row) CHECK(std::abs(times[row] - 667) < 100);
}

TEST_CASE("PKSampler: K rows of each of P classes") {
  const auto data = Numbers(20) | map<1>([](std::int32_t i) { return i < 2 ? 9 : i % 3; }) | rename<1, "label">() |
                    project<"label", 0>();
  const auto classes = [](const auto& rows_of, std::uint64_t epoch) {
    Labels seen;
    std::set<float> points;
    for (const auto& row : dataset::rows(rows_of, epoch)) {
      seen.push_back(row.template values<0>()[0]);
      points.insert(row.template values<1>()[0]);
    }
    CHECK(points.size() == seen.size());
    return seen;
  };
  CHECK(classes(data | sample(PKSampler<"label">{.num_val = 2}), 0) == Labels{0, 0, 1, 1, 2, 2, 9, 9});
  CHECK(classes(data | sample(PKSampler<"label">{.num_val = 3}), 1) == Labels{0, 0, 0, 1, 1, 1, 2, 2, 2});
  CHECK(classes(data | sample(PKSampler<"label">{.num_val = 3, .num_class = 2, .num_samples = 5}), 1) ==
        Labels{0, 0, 0, 1, 1});
  const auto mixed = data | sample(PKSampler<"label">{.num_val = 2, .shuffle = true, .seed = 1});
  CHECK(sorted(classes(mixed, 0)) == Labels{0, 0, 1, 1, 2, 2, 9, 9});
}

TEST_CASE("a row that is drawn twice is augmented in two ways, others as always") {
  const auto draw = map<0, Column<std::int32_t, Shape<>>>(
      [](std::span<const std::int32_t>, std::span<std::int32_t> out, Random& random) {
        out[0] = static_cast<std::int32_t>(random.below(1u << 30));
      });
  const auto numbers = [&](const auto& data) {
    Labels seen;
    for (const auto& row : data | draw) seen.push_back(row.template values<0>()[0]);
    return seen;
  };
  const auto data = Numbers(3) | project<1>();
  const Labels plain = numbers(data | sample(SubsetSampler{.indices = {0, 1, 2}}));
  const Labels twice = numbers(data | sample(SubsetSampler{.indices = {2, 0, 2, 2}}));
  CHECK(twice[0] == plain[2]);
  CHECK(twice[1] == plain[0]);
  CHECK(std::set<int>(twice.begin(), twice.end()).size() == 4);
  const Labels wrapped = numbers(data | shard({.num_shards = 2, .shard_id = 1}));  // rows 1 and 0
  CHECK(wrapped[0] != wrapped[1]);
}

TEST_CASE("numbers that are wrong") {
  const auto says = [](auto sampler) { return message<ValueError>([&] { (void)(Numbers(10) | sample(sampler)); }); };
  CHECK(message<ValueError>([] { shard({.num_shards = 8, .shard_id = 8}); }) ==
        "shard: shard_id is 8, legal are 0 .. 7 with num_shards = 8.");
  CHECK(message<ValueError>([] { shard({.num_shards = 0, .shard_id = 0}); }) ==
        "shard: num_shards is 0; it must be 1 or more.");
  CHECK(has(message<ValueError>([] { shard_of(2, 5, 4, ShardRule::exact); }), "of 2 rows, shard 4 of 5 has none"));
  CHECK(says(SequentialSampler{.start_index = 10}) == "SequentialSampler: start_index is 10, but the rows are 0 .. 9.");
  CHECK(says(RandomSampler{.num_samples = -1}) ==
        "RandomSampler: num_samples is -1; it must be 1 or more, or 0 for all.");
  CHECK(says(SubsetSampler{.indices = {3, 10}}) == "SubsetSampler: there is no row 10, the rows are 0 .. 9.");
  CHECK(says(SubsetRandomSampler{}) == "SubsetRandomSampler: the list of indices is empty.");
  CHECK(has(says(WeightedRandomSampler{.weights = {1, -1}}), "a weight is -1"));
  CHECK(has(says(WeightedRandomSampler{.weights = {0, 0}}), "no weight is greater than 0"));
  CHECK(has(says(WeightedRandomSampler{.weights = {0, 1}, .replacement = false}), "10 of 1 rows"));
  CHECK(has(says(WeightedRandomSampler{.weights = std::vector<double>(11, 1.0)}), "11 weights, but 10 rows"));
  CHECK(has(says(DistributedSampler{.num_shards = 4, .shard_id = -1}), "shard_id is -1, legal are 0 .. 3"));
  CHECK(has(message<ValueError>(
                [] { (void)(Numbers(10) | rename<1, "label">() | sample(PKSampler<"label">{.num_val = 2})); }),
            "0 classes have 2 rows or more"));
  CHECK(message<ValueError>([] { (void)(Numbers(10) | sample(PKSampler<1>{.num_val = 1, .num_class = -2})); }) ==
        "PKSampler.num_class(-2): the number of classes must be 0 or more.");
}
