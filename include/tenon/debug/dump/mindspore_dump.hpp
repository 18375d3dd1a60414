// MindSporeDump: a dump in MindSpore's files, as MINDSPORE_DUMP_CONFIG configures it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/debug/dump/dump.hpp>
#include <tenon/debug/dump/dump_config.hpp>
#include <tenon/debug/dump/dump_queue.hpp>
#include <tenon/debug/dump/tensor_statistics.hpp>
#include <tenon/debug/rank.hpp>
#include <tenon/io/path/own_path.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A writer with MindSpore's folders, names, and bytes, which docs/dump.md lists. Names are interned or those of a
/// network: they outlive the step.
///
/// source      MindSpore 2.10's dump on the CPU. Departures: no files of the network's inputs; with op_debug_mode no
///             file Opdebug.Node_OpDebug, in which an Ascend reports the unit with an overflow
class MindSporeDump {
 public:
  /// What is written of one step.
  struct File {
    int graph = 0;
    long iteration = 0;
    std::string folder{};
    bool has_folder = false;
    bool wants_order = false;  // its graph has none yet
    std::vector<std::string_view> order{};
    std::string statistics{}, mapping{};
  };

  /// `most_queued`: bytes of tensors that may wait for the writing thread of an asynchronous dump.
  explicit MindSporeDump(DumpConfig config, std::size_t most_queued = DumpQueue::default_most_queued)
      : shared_(std::make_unique<Shared>(std::move(config), most_queued)) {}

  const DumpConfig& config() const { return shared_->config; }
  bool done() const { return !config().enabled || shared_->queue.failed(); }
  void finish() { shared_->queue.finish(); }
  static std::string_view names_hint() {
    return " The existing names are listed in execution_order/ms_execution_order_graph_0.csv.";
  }

  [[gnu::cold]] File open(const DumpedStep& step);
  static void pass(File& file, const Operation&, std::string_view name) {
    if (file.wants_order) file.order.push_back(name);
  }
  void write(File& file, const DumpedTensor& what, const AnyTensor& tensor);
  [[gnu::cold]] void close(File& file);

 private:
  struct Graph {
    bool has_order = false, has_iterations = false;
  };
  struct Shared {
    DumpConfig config;
    DumpQueue queue;
    std::mutex mutex{};
    std::map<int, Graph> graphs{};
    bool has_metadata = false;
    std::string folder{};  // the configuration's, or one below it while another program dumps there

    Shared(DumpConfig c, std::size_t most_queued) : config(std::move(c)), queue(config.async, most_queued) {}
  };

  void write_metadata();
  void write_order(const File& file);
  const std::string& folder_of(File& file);
  void write_text(const std::string& folder, std::string_view name, std::string content) {
    shared_->queue.write(io::join_path(folder, name), std::move(content));
  }
  std::string rank_folder() const {
    return io::join_path(shared_->folder, text("rank_", rank_of_environment().number));
  }

  std::unique_ptr<Shared> shared_;  // several threads may predict
};

/// The dump that a configuration asks for.
[[gnu::cold]] inline Dump<MindSporeDump> mindspore_dump(DumpConfig config,
                                                        std::size_t most_queued = DumpQueue::default_most_queued) {
  DumpSelection what = config.what;
  return Dump<MindSporeDump>(MindSporeDump(std::move(config), most_queued), std::move(what));
}

inline MindSporeDump::File MindSporeDump::open(const DumpedStep& step) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->folder.empty()) shared_->folder = io::own_folder(config().path, 0700);
  write_metadata();
  const std::string net = config().net_name.empty() ? file_word(step.network) : config().net_name;
  File file{step.graph, step.iteration, text(rank_folder(), "/", net, "/", step.graph, "/", step.iteration)};
  file.wants_order = !shared_->graphs[step.graph].has_order;
  return file;
}
inline void MindSporeDump::write(File& file, const DumpedTensor& what, const AnyTensor& tensor) {
  constexpr std::size_t longest_name = 255;
  if (config().saved != SavedData::tensor) file.statistics += statistic_line(what, tensor);
  if (config().saved == SavedData::statistic) return;
  std::string name = what.file_name(tensor.dtype);
  if (name.size() > longest_name) {
    const std::string number = text(hash_bytes(name.data(), name.size()), ".npy");
    file.mapping += text(number, ",", name, "\n");
    name = number;
  }
  std::vector<float> widened;
  const std::span<const std::byte> elements = dump_npy_elements(tensor, widened);
  shared_->queue.write(io::join_path(folder_of(file), name), dump_npy_header(tensor.dtype, tensor.shape()), elements);
}
inline void MindSporeDump::close(File& file) {
  if (!file.statistics.empty())
    write_text(folder_of(file), "statistic.csv", std::string(statistic_header) + file.statistics);
  if (!file.mapping.empty()) write_text(folder_of(file), "mapping.csv", std::move(file.mapping));
  write_order(file);
}
/// Makes it before the first file in it: a step of which nothing is to be written leaves no trace.
inline const std::string& MindSporeDump::folder_of(File& file) {
  if (!std::exchange(file.has_folder, true)) shared_->queue.make_folder(file.folder);
  return file.folder;
}
[[gnu::cold]] inline void MindSporeDump::write_order(const File& file) {
  const std::lock_guard lock(shared_->mutex);
  Graph& graph = shared_->graphs[file.graph];
  const std::string folder = io::join_path(rank_folder(), "execution_order");
  if (!std::exchange(graph.has_order, true)) {
    std::string names = "NodeExecutionOrder-FullNameWithScope\n";
    for (const std::string_view name : file.order) names.append(name) += '\n';
    shared_->queue.make_folder(folder);
    write_text(folder, text("ms_execution_order_graph_", file.graph, ".csv"), std::move(names));
  }
  if (!file.has_folder) return;
  std::string path = io::join_path(folder, text("ms_global_execution_order_graph_", file.graph, ".csv"));
  if (std::exchange(graph.has_iterations, true)) shared_->queue.append(std::move(path), text(file.iteration, "\n"));
  else shared_->queue.write(std::move(path), text(file.iteration, "\n"));  // in place of an earlier run's
}
[[gnu::cold]] inline void MindSporeDump::write_metadata() {
  if (std::exchange(shared_->has_metadata, true)) return;
  if (const EnvironmentRank rank = rank_of_environment(); !rank.refused.empty())
    logging::warning("Dump: RANK_ID must be a number, but it is ", io::printable(rank.refused), "; the dump is in ",
                     rank_folder(), ".");
  const std::string folder = io::join_path(rank_folder(), ".dump_metadata");
  shared_->queue.make_folder(folder);
  write_text(folder, "data_dump.json", config().source);
  write_text(folder, "config.json",
             text("{\"device_target\":\"", get_context().device_target,
                  "\",\"ms_version\":\"2.10.0\",\"tenon_version\":\"", TENON_VERSION, "\"}"));
}

}  // namespace tenon::debug
