// What a data set consists of, for event files.
#pragma once
#include <string>
#include <utility>

#include <tenon/dataset/stage/data_info.hpp>
#include <tenon/io/event/event.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// "Batch" for Batched: stages are called as what has been done, MindSpore's operators as what they do.
inline std::string operator_name(std::string_view stage) {
  constexpr std::pair<std::string_view, std::string_view> names[]{{"Batched", "Batch"},
                                                                  {"BatchedOfSize", "Batch"},
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
inline io::DatasetGraph lineage_of(const DataInfo& data) {
  io::DatasetGraph graph;
  io::DatasetGraph* last = nullptr;
  data.each_stage([&](const StageInfo& stage) {
    last = last ? &last->children.emplace_back() : &graph;
    last->settings.push_back({"op_type", detail::operator_name(stage.type)});
    for (int i = 0; i < stage.count; ++i) {
      const auto& [name, value, is_flag] = stage.setting[i];
      if (is_flag) last->settings.push_back({std::string(name), value != 0});
      else last->settings.push_back({std::string(name), value});
    }
  });
  return graph;
}
template <Dataset D>
io::DatasetGraph lineage_of(const D& data) {
  return lineage_of(DataInfo(data));
}

}  // namespace tenon::dataset
