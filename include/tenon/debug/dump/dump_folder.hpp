// step_folder: the folder of a plain dump for the files of a step.
#pragma once
#include <string>

#include <tenon/debug/dump/dump.hpp>
#include <tenon/debug/dump/dump_queue.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/own_path.hpp>

namespace tenon::inline TENON_ABI::debug {

/// "values/LeNet_train_0/12" for step 12 of graph 0, below `root`, or below `root`/run_1 while another program that is
/// running dumps there.
[[gnu::cold]] inline std::string step_folder(const std::string& root, const DumpedStep& step) {
  return io::join_path(io::own_folder(root),
                       text(file_word(step.network), "_", name(step.kind), "_", step.graph, "/", step.iteration));
}
/// Makes a folder and those above it. Throws RuntimeError if that cannot be.
[[gnu::cold]] inline void make_dump_folder(const std::string& path) {
  if (!io::make_directories(path)) io::throw_system_error("make the folder", path);
}

}  // namespace tenon::debug
