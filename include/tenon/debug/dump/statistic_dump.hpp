// StatisticDump: a dump of extremes, means, and counts of the elements of tensors, a table per step.
#pragma once
#include <string>

#include <tenon/debug/dump/dump_folder.hpp>
#include <tenon/debug/dump/tensor_statistics.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A writer of a table per step, below `folder`: LeNet_train_0/12/statistic.csv, with the columns of MindSpore's file
/// of that name.
struct StatisticDump {
  struct File {
    std::string folder, lines;
  };
  std::string folder = "dump";

  File open(const DumpedStep& step) const { return {step_folder(folder, step), std::string(statistic_header)}; }
  static void write(File& file, const DumpedTensor& what, const AnyTensor& tensor) {
    file.lines += statistic_line(what, tensor);
  }
  [[gnu::cold]] static void close(const File& file) {
    make_dump_folder(file.folder);
    detail::write_dump_file(io::join_path(file.folder, "statistic.csv"), file.lines, {});
  }
};

}  // namespace tenon::debug
