// Samples of the founding documents about data sets.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/dataset/batch.hpp>
#include <tenon/dataset/generator.hpp>
#include <tenon/dataset/sampler/shard.hpp>

using namespace tenon;

namespace {

/// A data set of one's own: its size and its samples are those of the whole, whoever reads a part.
auto own_data() {
  using Image = dataset::Column<float, Shape<1, 2, 2>, "image">;
  using Label = dataset::Column<std::int32_t, Shape<>, "label">;
  return dataset::generator<dataset::Columns<Image, Label>>(
      1000, [](long index, std::span<float> image, std::span<std::int32_t> label) {
        std::fill(image.begin(), image.end(), static_cast<float>(index) / 1000);
        label[0] = static_cast<std::int32_t>(index);
      });
}
std::vector<int> read_by(long shard_id, dataset::ShardRule rule = dataset::ShardRule::wrap) {
  std::vector<int> labels;
  for (const auto& row :
       own_data() | dataset::shard({.num_shards = 8, .shard_id = shard_id, .rule = rule}) | dataset::batch(32))
    for (const int label : row.values<"label">()) labels.push_back(label);
  return labels;
}

}  // namespace

TEST_CASE("a data set of one's own for several devices describes the whole, and each device reads its part") {
  const std::vector<int> third = read_by(3);
  REQUIRE(third.size() == 125);
  for (int i = 0; i < 125; ++i) CHECK(third[static_cast<std::size_t>(i)] == 8 * i + 3);
}

TEST_CASE("eight readers with num_shards = 8 read every sample once") {
  std::vector<int> all;
  for (long device = 0; device < 8; ++device)
    for (const int label : read_by(device)) all.push_back(label);
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
}
