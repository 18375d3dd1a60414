// A right program. operations.txt says how it goes wrong.
#include <tenon/dataset/batch/map_batch.hpp>
#include <tenon/dataset/batch/pad.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operation/concat.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/project.hpp>
#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/operation/split.hpp>
#include <tenon/dataset/operation/zip.hpp>
#include <tenon/dataset/sampler/pk_sampler.hpp>
#include <tenon/dataset/sampler/random_sampler.hpp>
#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/stream.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
using namespace tenon;
using namespace tenon::dataset;

struct Reader {
  bool next(std::span<float> x, std::span<int> label) { return x[0] = 1, label[0] = 2, true; }
};
using List = Columns<Column<float, Shape<4>, "x">, Column<int, Shape<>, "label">>;

int main() {
  const auto made = generator<List>(9, [](long, std::span<float>, std::span<int>) {});
  const auto come = stream<List>([] { return Reader{}; });
  const auto texts =
      generator<Columns<Column<int, Ragged<dataset::any>, "text">>>(9, [](long, auto out) { out.resize(3); });
  const auto kept = made | filter<"label">([](std::span<const int> label) { return label[0] > 1; });
  const auto both = zip(made, texts | pad<"text">(Shape<5>{}));
  const auto twice = made + made;
  const auto parts = split(made, {0.5, 0.5});
  const auto part = made | shard({.num_shards = 2, .shard_id = 0});
  const auto classes = made | sample(PKSampler<"label">{.num_val = 1});
  const auto named = made | rename<"x", "y">() | project<"label", "y">();
  const auto changed = made | batch(3) | map_batch<"x">([](const BatchInfo&, std::span<float>) {});
  const auto first = come | take(9) | prefetch();
  std::printf("%ld\n", parts[0].size());
}
