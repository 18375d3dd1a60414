// Sums of gradients in buckets, which are on their way to other ranks while the rest is computed: bits do not change.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <tenon/dist/shard_sum.hpp>

#include "../support/error_of.hpp"
#include "../support/models.hpp"
#include "shards.hpp"

using namespace shards;

namespace {

/// Number i of what a shard gives.
float given(int shard, long i) { return float((shard * 7919 + i * 104729) % 2003 - 1001) / float(1 + i % 17); }

constexpr long floats = 1000, doubles = 77, all_bytes = floats * 4 + doubles * 8;

/// Writes all that a shard gives, or adds it.
void compute(std::byte* to, int shard, bool begins, long begin, long end) {
  const auto add = [&]<class S>(S, std::byte* at, long i) {
    S sum = 0;
    if (!begins) std::memcpy(&sum, at, sizeof sum);
    sum = begins ? S(given(shard, i)) : sum + S(given(shard, i));
    std::memcpy(at, &sum, sizeof sum);
  };
  for (long i = 0; i < floats + doubles; ++i) {
    const long at = i < floats ? 4 * i : 4 * floats + 8 * (i - floats);
    if (at < begin || at >= end) continue;
    if (i < floats) add(float(), to + at, i);
    else add(double(), to + at, i);
  }
}
std::string expected(int shards) {
  std::vector<std::vector<float>> parts;
  std::vector<std::vector<double>> wide;
  for (int shard = 0; shard < shards; ++shard) {
    parts.emplace_back(), wide.emplace_back();
    for (long i = 0; i < floats; ++i) parts.back().push_back(given(shard, i));
    for (long i = floats; i < floats + doubles; ++i) wide.back().push_back(double(given(shard, i)));
  }
  std::vector<float> sum = parts[0];
  std::vector<double> wide_sum = wide[0];
  if (shards > 1) {
    dist::sum_tree<float>(shards, [&](int shard) { return parts[std::size_t(shard)].data(); }, sum);
    dist::sum_tree<double>(shards, [&](int shard) { return wide[std::size_t(shard)].data(); }, wide_sum);
  }
  std::string bytes(std::size_t(all_bytes), '\0');
  std::memcpy(bytes.data(), sum.data(), std::size_t(floats) * 4);
  std::memcpy(bytes.data() + floats * 4, wide_sum.data(), std::size_t(doubles) * 8);
  return bytes;
}

/// The sum on all of `ranks` ranks. `early`: a shard says of each bucket that it is complete. `apart`: ranks share no
/// memory.
void check_sum(int ranks, int shards, const std::vector<long>& ends, bool early, bool apart) {
  CAPTURE(ranks);
  CAPTURE(shards);
  CAPTURE(ends.size());
  CAPTURE(apart);
  const std::string sum = expected(shards);
  std::vector<int> equal(std::size_t(ranks), 0);
  dist::run_ranks(ranks, [&](const dist::Communicator& group) {
    dist::detail::ShardSum sums(apart ? dist::Communicator::over<Apart>(group) : group);
    for (int step = 0; step < 3; ++step) {
      sums.fit({floats * 4, all_bytes}, ends);
      sums.run(shards, shards, [&](int shard, bool begins) {
        long begin = 0;
        for (const long end : ends) {
          compute(sums.values(), shard, begins, begin, end);
          begin = end;
          if (early) sums.complete(end);
        }
        compute(sums.values(), shard, begins, begin, all_bytes);
      });
      equal[std::size_t(group.rank())] += std::memcmp(sums.values(), sum.data(), sum.size()) == 0;
    }
  });
  for (const int times : equal) CHECK(times == 3);
}

/// Five layers of a quarter of a megabyte.
struct Wide : nn::Cell<Wide> {
  nn::Dense<256, 256> a, b, c, d, e;
  nn::Dense<256, 4> head;
  constexpr auto construct(auto x) const { return head(relu(e(relu(d(relu(c(relu(b(relu(a(flatten(x)))))))))))); }
};
using Image = Shape<1, 16, 16>;

}  // namespace

TEST_CASE("a sum in buckets has the bits of the tree") {
  const std::vector<std::vector<long>> buckets{
      {all_bytes}, {8, all_bytes}, {64, 128, 1024, 3992, 4000, 4200}, {2000, 4008, all_bytes - 8}};
  for (const auto& ends : buckets)
    for (const int shards : {1, 2, 5, 8})
      for (const int ranks : {1, 2, 3, 8})
        for (const bool apart : {false, true}) check_sum(ranks, shards, ends, ranks % 2 == 0 || shards > 2, apart);
}
TEST_CASE("a network of several buckets has equal bits on any number of ranks") {
  using Layout = detail::SumLayout<Wide>;
  static_assert(Layout::table.buckets >= 4);
  check_ranks<Wide, Image>({2, 3, 8}, {.samples = 40, .batch = 16, .epochs = 12, .shards = 8},
                           nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f});
}
TEST_CASE("buckets of the last layers are complete before the first layers are computed") {
  using Graph =
      detail::TriedGraph<detail::TrainStepIn<Wide, nn::SoftmaxCrossEntropyWithLogits<>, detail::GradientSums<Wide>,
                                             detail::ParallelStep<dist::DataParallel>::precision(MixedPrecision{}),
                                             TypeKey<Dtype::float32, dyn, 1, 16, 16>, TypeKey<Dtype::int32, dyn>>>;
  static constexpr auto& ready = detail::BucketsReady<Wide, Graph>::table.after;
  for (int bucket = 1; bucket < detail::SumLayout<Wide>::table.buckets; ++bucket)
    CHECK(ready[bucket - 1] < ready[bucket]);
  CHECK(ready[detail::SumLayout<Wide>::table.buckets - 1] <= Graph::program.instructions);
}
TEST_CASE("ranks of one machine reach each other's blocks, and no others do") {
  dist::run_ranks(3, [](const dist::Communicator& group) {
    const dist::detail::SharedBlocks blocks(group, 4096, true);
    REQUIRE(blocks);
    blocks.of((group.rank() + 1) % 3)[group.rank()] = std::byte(7 + group.rank());
    group.barrier();
    const int from = (group.rank() + 2) % 3;
    for (int i = 0; i < 4096; ++i)
      if (int(blocks.of(group.rank())[i]) != (i == from ? 7 + from : 0)) throw ValueError("another byte");
    if (dist::detail::SharedBlocks(group, 4096, group.rank() != 1)) throw ValueError("one did not want them");
    // more than there can be, on one rank alone: none has them
    if (dist::detail::SharedBlocks(group, group.rank() == 2 ? std::size_t(1) << 63 : 4096, true))
      throw ValueError("there cannot be so many");
  });
}
TEST_CASE("a rank that throws while buckets are on their way ends the others with a sentence") {
  const std::string said = support::error_of([] {
    dist::run_ranks(2, [](const dist::Communicator& group) {
      dist::detail::ShardSum sums(group);
      sums.fit({floats * 4, all_bytes}, std::vector<long>{64, all_bytes});
      sums.run(2, 2, [&](int shard, bool begins) {
        compute(sums.values(), shard, begins, 0, all_bytes);
        sums.complete(64);
        if (shard == 1) throw ValueError("an index is out of range");
      });
    });
  });
  CHECK(said == "an index is out of range");
}
