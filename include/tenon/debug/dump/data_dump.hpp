// DataDump: writes the operands and results of operators to files while networks run.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/debug/dump/dump_config.hpp>
#include <tenon/debug/dump/dump_writer.hpp>
#include <tenon/debug/dump/dumped_tensor.hpp>
#include <tenon/debug/dump/kernel_list.hpp>
#include <tenon/debug/dump/marked_cells.hpp>
#include <tenon/debug/dump/tensor_statistics.hpp>
#include <tenon/debug/overflow_check.hpp>
#include <tenon/debug/rank.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A watcher that writes what a DumpConfig says: `DataDump dump(read_dump_config("/d.json")); const Watching
/// scope(dump);`. MINDSPORE_DUMP_CONFIG and enable_dump do that without a line in the program (debug/dump.hpp).
/// docs/dump.md lists the files.
///
/// Graph mode runs dumped steps operator by operator, with the same bits: files are those of the source, alike in both
/// modes. An operator that changes an operand in place, as optimizers do, has the new value in its input's file, too:
/// Tenon shows observers what is there behind an operator. Each Model has a graph number for each kind of step, in the
/// order in which they begin; the iteration is the Model's own count of that kind, so that a resumed training goes on
/// counting.
///
/// A step that runs inside another one, as when an observer predicts with a network of its own, is dumped by itself.
///
/// source      MindSpore 2.10's dump on the CPU. Departures: no files of the network's inputs; with op_debug_mode no
///             file Opdebug.Node_OpDebug, in which an Ascend says which of its units has had an overflow
class DataDump {
 public:
  static constexpr bool every_value = true;

  /// `most_queued`: bytes of tensors that may wait for the writing thread of an asynchronous dump.
  explicit DataDump(DumpConfig config, std::size_t most_queued = DumpWriter::default_most_queued)
      : config_(std::move(config)), kernels_(config_.kernels), writer_(config_.async, most_queued) {}
  DataDump(const DataDump&) = delete;
  DataDump& operator=(const DataDump&) = delete;
  /// Waits for all files. Lists the names among `kernels` that no operator has.
  ~DataDump();

  const DumpConfig& config() const { return config_; }
  /// Waits until everything that was dumped is in files.
  void finish() { writer_.finish(); }

  bool begin_step(const NetworkStep& step);
  void end_step(const NetworkStep& step);
  void before(const Operation&) {
    if (Step* const step = step_of_thread()) step->told = nullptr;
  }
  void after(const Operation& operation, std::span<const AnyTensor> operands, std::span<const AnyTensor> results);

 private:
  struct DumpedGraph {
    int id = 0;
    std::set<long> begun;
    std::atomic<bool> has_order{false};  // several threads may predict
    bool has_iterations = false;
  };
  /// A step that a thread is in.
  struct Step {
    const DataDump* dump;
    DumpedGraph* graph = nullptr;  // null if the step is not dumped
    long iteration = 0;
    std::string folder{}, where{};
    bool has_folder = false;
    std::vector<std::string> scopes{};  // of marked cells
    std::vector<std::string_view> order{};
    std::string statistics{}, mapping{};
    const Operation* told = nullptr;  // what was told of after the last beginning of an operation
  };
  static std::vector<Step>& steps_of_thread() {
    static thread_local std::vector<Step> steps;
    return steps;
  }
  Step* step_of_thread() const {
    std::vector<Step>& steps = steps_of_thread();
    return !steps.empty() && steps.back().dump == this && steps.back().graph ? &steps.back() : nullptr;
  }

  bool is_for_this_device();
  DumpedGraph* graph_of(const NetworkStep& step, long iteration);
  bool start(Step& made, const NetworkStep& step);
  void complete(Step& done, const NetworkStep& step);
  bool wants(const Step& step, const Operation& operation) const;
  void write_metadata();
  void write_tensor(Step& step, DumpedTensor what, const AnyTensor& tensor);
  void write_parameters(Step& step, const NetworkParts& parts);
  void write_order(Step& step);
  const std::string& folder_of(Step& step);
  void write_text(const std::string& folder, std::string_view name, std::string content) {
    writer_.write(io::join_path(folder, name), std::move(content));
  }
  std::string rank_folder() const;
  std::int64_t next_time();

  DumpConfig config_;
  KernelList kernels_;
  DumpWriter writer_;
  std::mutex mutex_;
  std::map<std::pair<const void*, StepKind>, DumpedGraph*> current_;
  std::vector<std::unique_ptr<DumpedGraph>> graphs_;
  bool has_metadata_ = false, device_told_ = false;
  std::atomic<bool> overflow_told_{false};
  std::atomic<std::int64_t> time_{0};
};

inline DataDump::~DataDump() {
  if (config_.mode != DumpMode::kernels || graphs_.empty()) return;
  if (const std::vector<std::string> unused = kernels_.unused(); !unused.empty())
    logging::warning("[DataDump] Unused Kernel in json: ", quoted_list(unused),
                     ". The names that there are stand in execution_order/ms_execution_order_graph_0.csv.");
}

[[gnu::cold]] inline std::string DataDump::rank_folder() const {
  return io::join_path(config_.path, text("rank_", rank_of_environment().number));
}
inline std::int64_t DataDump::next_time() {
  using namespace std::chrono;
  const std::int64_t now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  std::int64_t before = time_.load(std::memory_order_relaxed), next = 0;
  do next = std::max(now, before + 1);
  while (!time_.compare_exchange_weak(before, next, std::memory_order_relaxed));
  return next;
}

[[gnu::cold]] inline bool DataDump::is_for_this_device() {
  const long device = get_context().device_id;
  if (std::find(config_.devices.begin(), config_.devices.end(), device) != config_.devices.end()) return true;
  if (!std::exchange(device_told_, true))
    logging::warning("Dump: this is device ", device, ", which support_device does not name: nothing is dumped.");
  return false;
}
/// Null if the iteration is not to be dumped. A step that was dumped already is one of another network at the same
/// place, or of one that was set back: it gets a new number.
[[gnu::cold]] inline DataDump::DumpedGraph* DataDump::graph_of(const NetworkStep& step, long iteration) {
  const std::lock_guard lock(mutex_);
  if (!is_for_this_device()) return nullptr;
  DumpedGraph*& graph = current_[{step.owner, step.kind}];
  if (!graph || graph->begun.contains(iteration)) {
    graphs_.push_back(std::make_unique<DumpedGraph>());
    graph = graphs_.back().get();
    graph->id = int(graphs_.size()) - 1;
  }
  if (!config_.iterations.contains(iteration)) return nullptr;
  graph->begun.insert(iteration);
  return graph;
}

// One that is not dumped has its place, too: its end is told, and what runs in it is no part of the step around it.
[[gnu::cold]] inline bool DataDump::begin_step(const NetworkStep& step) {
  Step made{this};
  const bool dumped = start(made, step);
  if (!dumped) made.graph = nullptr;
  steps_of_thread().push_back(std::move(made));
  return dumped;
}
[[gnu::cold]] inline bool DataDump::start(Step& made, const NetworkStep& step) {
  if (!config_.enabled || writer_.failed()) return false;
  made.iteration = step.number + config_.iterations.first();
  made.graph = graph_of(step, made.iteration);
  if (!made.graph) return false;
  write_metadata();
  if (writer_.failed()) return false;
  const std::string net = config_.net_name.empty() ? file_word(step.network) : config_.net_name;
  made.folder = text(rank_folder(), "/", net, "/", made.graph->id, "/", made.iteration);
  made.where = text("Overflow in step ", made.iteration, " (", name(step.kind), ") of ", step.network, ": ");
  if (config_.mode == DumpMode::cells) made.scopes = marked_scopes(step.parts);
  return true;
}
[[gnu::cold]] inline void DataDump::end_step(const NetworkStep& step) {
  std::vector<Step>& steps = steps_of_thread();
  if (steps.empty() || steps.back().dump != this) return;
  Step done = std::move(steps.back());
  steps.pop_back();
  try {
    if (done.graph) complete(done, step);
  } catch (const std::exception& e) {
    logging::warning("Dump: a step is not complete: ", e.what());
  }
}
[[gnu::cold]] inline void DataDump::complete(Step& done, const NetworkStep& step) {
  const bool whole = config_.mode == DumpMode::all && !config_.only_overflow;
  if (whole && config_.slots != DumpedSlots::inputs) write_parameters(done, step.parts);
  if (!done.statistics.empty())
    write_text(folder_of(done), "statistic.csv", std::string(statistic_header) + done.statistics);
  if (!done.mapping.empty()) write_text(folder_of(done), "mapping.csv", std::move(done.mapping));
  write_order(done);
}
/// Makes it before the first file in it: a step of which nothing is to be written leaves no trace.
inline const std::string& DataDump::folder_of(Step& step) {
  if (!std::exchange(step.has_folder, true)) writer_.make_folder(step.folder);
  return step.folder;
}

inline bool DataDump::wants(const Step& step, const Operation& operation) const {
  if (config_.mode == DumpMode::all) return true;
  if (config_.mode == DumpMode::kernels) return kernels_.contains(operation.name, operation.type);
  for (const std::string& scope : step.scopes)
    if (operation.name.find(scope) != std::string_view::npos) return true;
  return false;
}
inline void DataDump::after(const Operation& operation, std::span<const AnyTensor> operands,
                            std::span<const AnyTensor> results) {
  Step* const step = step_of_thread();
  if (!step || writer_.failed()) return;
  // in a step inside another one, both of which observe, each operation is told twice
  if (std::exchange(step->told, &operation) == &operation) return;
  if (!step->graph->has_order) step->order.push_back(operation.name);
  if (!wants(*step, operation)) return;
  if (config_.only_overflow) {
    const NotFinite bad(results[0]);
    if (!bad) return;
    if (!overflow_told_.exchange(true))
      logging::warning(overflow_sentence(step->where, operation, bad, operands, results[0]));
  }
  if (config_.slots != DumpedSlots::outputs || config_.only_overflow)
    for (std::size_t k = 0; k < operands.size(); ++k)
      write_tensor(*step, {operation.type, operation.name, false, int(k), 0}, operands[k]);
  if (config_.slots != DumpedSlots::inputs || config_.only_overflow)
    for (std::size_t k = 0; k < results.size(); ++k)
      write_tensor(*step, {operation.type, operation.name, true, int(k), 0}, results[k]);
}

inline void DataDump::write_tensor(Step& step, DumpedTensor what, const AnyTensor& tensor) {
  constexpr std::size_t longest_name = 255;
  if (!tensor.data && tensor.bytes() > 0) return;  // nobody has given it any elements
  what.time = next_time();
  if (config_.saved != SavedData::tensor) step.statistics += statistic_line(what, tensor);
  if (config_.saved == SavedData::statistic) return;
  std::string name = what.file_name(tensor.dtype);
  if (name.size() > longest_name) {
    const std::string number = text(hash_bytes(name.data(), name.size()), ".npy");
    step.mapping += text(number, ",", name, "\n");
    name = number;
  }
  std::vector<float> widened;
  const std::span<const std::byte> elements = dump_npy_elements(tensor, widened);
  writer_.write(io::join_path(folder_of(step), name), dump_npy_header(tensor.dtype, tensor.shape()), elements);
}
[[gnu::cold]] inline void DataDump::write_parameters(Step& step, const NetworkParts& parts) {
  for (int i = 0; i < parts.count; ++i) {
    if (!parts.entry[i].parameter) continue;
    const std::string name = parameter_name(parts.entry, i);
    write_tensor(step, {"Parameter", name, true, 0, 0}, parts.values(i));
  }
}
[[gnu::cold]] inline void DataDump::write_order(Step& step) {
  const std::lock_guard lock(mutex_);
  const std::string folder = io::join_path(rank_folder(), "execution_order");
  if (!step.graph->has_order) {
    std::string names = "NodeExecutionOrder-FullNameWithScope\n";
    for (const std::string_view name : step.order) names.append(name) += '\n';
    writer_.make_folder(folder);
    write_text(folder, text("ms_execution_order_graph_", step.graph->id, ".csv"), std::move(names));
    step.graph->has_order = true;
  }
  if (!step.has_folder) return;
  std::string file = io::join_path(folder, text("ms_global_execution_order_graph_", step.graph->id, ".csv"));
  if (std::exchange(step.graph->has_iterations, true)) writer_.append(std::move(file), text(step.iteration, "\n"));
  else writer_.write(std::move(file), text(step.iteration, "\n"));  // in place of an earlier run's
}
[[gnu::cold]] inline void DataDump::write_metadata() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_metadata_, true)) return;
  if (const EnvironmentRank rank = rank_of_environment(); !rank.refused.empty())
    logging::warning("Dump: RANK_ID must be a number, but it is ", io::printable(rank.refused), "; the dump is in ",
                     rank_folder(), ".");
  const std::string folder = io::join_path(rank_folder(), ".dump_metadata");
  writer_.make_folder(folder);
  write_text(folder, "data_dump.json", config_.source);
  write_text(folder, "config.json",
             text("{\"device_target\":\"", get_context().device_target,
                  "\",\"ms_version\":\"2.10.0\",\"tenon_version\":\"", TENON_VERSION, "\"}"));
}

}  // namespace tenon::debug
