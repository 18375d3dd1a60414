// What a data set consists of, for event files.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/text/type_name.hpp>
#include <tenon/dataset/stage.hpp>
#include <tenon/io/event.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// "Batch" for Batched: stages are called as what has been done, MindSpore's operators as what they do.
inline std::string operator_name(std::string_view stage) {
  constexpr std::pair<std::string_view, std::string_view> names[]{{"Batched", "Batch"},
                                                                  {"Shuffled", "Shuffle"},
                                                                  {"ElementMapped", "Map"},
                                                                  {"SampleMapped", "Map"},
                                                                  {"Transformed", "Map"},
                                                                  {"BatchMapped", "Map"},
                                                                  {"Padded", "Map"},
                                                                  {"Repeated", "Repeat"},
                                                                  {"Taken", "Take"},
                                                                  {"Skipped", "Skip"},
                                                                  {"Prefetched", "Prefetch"},
                                                                  {"Concatenated", "Concat"},
                                                                  {"Zipped", "Zip"},
                                                                  {"Renamed", "Rename"},
                                                                  {"Projected", "Project"},
                                                                  {"Filtered", "Filter"},
                                                                  {"FilteredInOrder", "Filter"},
                                                                  {"FlatMapped", "FlatMap"},
                                                                  {"SplitPart", "Split"},
                                                                  {"Sampled", "Sampler"},
                                                                  {"Generated", "GeneratorDataset"},
                                                                  {"Streamed", "GeneratorDataset"},
                                                                  {"Mnist", "MnistDataset"}};
  for (const auto& [ours, theirs] : names)
    if (ours == stage) return std::string(theirs);
  return std::string(stage);
}
}  // namespace detail

/// The stages of a data set with their numbers, as MindSpore's lineage has them: each with the one that it reads.
template <Dataset D>
io::DatasetGraph lineage_of(const D& data) {
  io::DatasetGraph graph;
  const auto add = [&](std::string name, auto value) { graph.settings.push_back({std::move(name), value}); };
  add("op_type", detail::operator_name(class_name<D>()));
  if constexpr (requires { data.batch_size; }) add("batch_size", std::int64_t{data.batch_size});
  if constexpr (requires { data.drop_remainder; }) add("drop_remainder", bool{data.drop_remainder});
  if constexpr (requires { data.window; }) add("buffer_size", std::int64_t{data.window});
  if constexpr (requires { data.passes; }) add("count", std::int64_t{data.passes});
  if constexpr (requires { data.most; }) add("count", std::int64_t{data.most});
  if constexpr (requires { data.depth; }) add("prefetch_size", std::int64_t{data.depth});
  if constexpr (requires { data.left_out; }) add("count", std::int64_t{data.left_out});
  if constexpr (requires { data.sampler.num_shards; }) {
    add("num_shards", std::int64_t{data.sampler.num_shards});
    add("shard_id", std::int64_t{data.sampler.shard_id});
  }
  if constexpr (requires { lineage_of(data.second); }) graph.children.push_back(lineage_of(data.second));
  if constexpr (requires { lineage_of(data.data); })
    graph.children.insert(graph.children.begin(), lineage_of(data.data));
  else add("num_samples", std::int64_t{data.size()});
  return graph;
}

}  // namespace tenon::dataset
