// SummaryRecord: writes values of a program, step by step, for MindInsight or TensorBoard. Needs protozero.
#pragma once
#include <sys/stat.h>
#include <sys/time.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/io/event/event_writer.hpp>
#include <tenon/io/event/graph_message.hpp>
#include <tenon/io/event/lineage_message.hpp>
#include <tenon/io/event/lineage_text.hpp>
#include <tenon/io/event/mindspore_event.hpp>
#include <tenon/io/event/tensorboard_event.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/ops/summary_sink.hpp>
#include <tenon/train/record/summary_value.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
class OpenSummaryRecords;
}

struct SummaryRecordConfig {
  std::string file_prefix = "events";
  std::optional<std::string> file_suffix{};     // none: "_MS" for MindSpore, nothing for TensorBoard
  std::optional<std::int64_t> max_file_size{};  // bytes of each file
  SummaryFormat format = SummaryFormat::mindspore;
};

/// Collects values, and writes them with the number of a step:
///
///     SummaryRecord record("summary_dir");
///     record.add_value("scalar", "loss", 0.25);
///     record.add_value("histogram", "fc1.weight", net.fc1.weight.view());
///     record.record(step);
///
/// plugins     "scalar": a number, or a tensor of one element. "image": [N, C, H, W] with 1 or 3 channels
///             (io/event/image_grid.hpp), in a program with libpng. "tensor", "histogram": a tensor of at least one
///             axis. "graph": an io::EventGraph. "train_lineage", "eval_lineage", "dataset_graph",
///             "custom_lineage_data": the structures of io/event/event.hpp
/// files       MindSpore: <file_prefix>.out.events.summary.<seconds>.<device_id>.<host><file_suffix>, and the same
///             with _lineage instead of the suffix; mode 0600, 0400 when closed. TensorBoard:
///             <file_prefix>.out.tfevents.<seconds>.<host>.<process>.<number><file_suffix>, in which lineage is text.
///             They are made by the first record; a second of another run is left to it
/// operators   a value of theirs that cannot be recorded, such as images that make too large a grid: one warning per
///             name
/// trouble     a full disk, a folder that is gone, or max_file_size: one warning, and no more records
///             (io/event/event_writer.hpp)
/// throws      ValueError for a prefix or suffix with other characters than letters, digits, '_', '-', '.';
///             RuntimeError if the folder cannot be made
/// source      MindSpore SummaryRecord of 2.10. There only one may exist at a time; here the last one made that is open
///             gets what summary operators see. If a step has several values for one tag, the last value counts, as
///             MindSpore 2.10 documents. Several threads may add values and record
class SummaryRecord {
 public:
  explicit SummaryRecord(const std::string& log_dir, const SummaryRecordConfig& config = {});
  SummaryRecord(const SummaryRecord&) = delete;
  SummaryRecord& operator=(const SummaryRecord&) = delete;
  ~SummaryRecord();

  /// Keeps a value for the next record(). A copy is made. Throws ValueError for a plugin that there is not, an empty
  /// name, or a tensor that is none for this plugin; TypeError for a value of another plugin; RuntimeError for an image
  /// without libpng.
  void add_value(std::string_view plugin, std::string_view name, const AnyTensor& value);
  void add_value(std::string_view plugin, std::string_view name, double value);
  template <class T, class S>
  void add_value(std::string_view plugin, std::string_view name, const Tensor<T, S>& value) {
    add_value(plugin, name, value.view());
  }
  void add_value(std::string_view plugin, std::string_view name, const io::EventGraph& value);
  void add_value(std::string_view plugin, std::string_view name, const io::TrainLineage& value);
  void add_value(std::string_view plugin, std::string_view name, const io::EvalLineage& value);
  void add_value(std::string_view plugin, std::string_view name, const io::DatasetGraph& value);
  void add_value(std::string_view plugin, std::string_view name, const io::CustomLineage& value);

  /// Writes what was added since the last call, under this step. `plugin_filter(plugin)` says which of it; the rest is
  /// left out for good. False if the record is closed, or some of it could not be written.
  bool record(std::int64_t step, const std::function<bool(std::string_view plugin)>& plugin_filter = {});
  /// Waits until the disk has all that was recorded.
  void flush();
  /// Nothing can be recorded any more.
  void close();

  /// "train" or "eval"; in the latter values of summary operators are not recorded. Throws ValueError for others.
  void set_mode(std::string_view mode);
  /// Whether what summary operators see is taken, in mode "train": a program that records few steps says false in front
  /// of the others, and saves the copies.
  void take_operators(bool wanted) { wants_operators_ = wanted; }

  /// The path of the file of values, where it is or will be.
  std::string log_dir() const;

 private:
  // A value, or an event of its own: a graph, lineage.
  struct Pending {
    std::string plugin;
    std::variant<io::EventValue, io::Event> what;
    std::size_t group = 0;  // the place of the first one of its plugin
  };
  using Filter = std::function<bool(std::string_view)>;
  // The last value that a summary operator has seen under a name: a copy.
  struct Seen {
    std::string plugin, name;
    AnyTensor tensor;
    std::vector<std::byte> bytes;
  };

  void add(std::string_view plugin, io::EventValue value);
  void add(std::string_view plugin, io::EventContent content, std::string message);
  void push(Pending pending);
  template <class Lineage>
  void add_lineage(std::string_view plugin, std::string_view asked, io::EventContent content, std::string_view name,
                   const Lineage& lineage) {
    detail::check_summary_plugin(plugin, asked);
    if (format_ == SummaryFormat::mindspore) add(plugin, content, io::lineage_message(lineage));
    else add(plugin, {std::string(name.empty() ? plugin : name), io::lineage_text(lineage)});
  }
  bool write(const io::Event& event);
  friend class detail::OpenSummaryRecords;
  bool takes_operators() const { return mode_is_train_ && wants_operators_ && !closed_; }
  void see(std::string_view plugin, std::string_view name, const AnyTensor& value);
  void add_seen();
  bool is_first_refusal(std::string_view plugin, std::string_view name);

  SummaryFormat format_;
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
  std::vector<Seen> seen_;
  std::vector<std::pair<std::string, std::string>> refused_;  // plugins and names of Seen that a warning was about
  io::EventWriter values_, lineage_;
  std::atomic<bool> mode_is_train_{true}, wants_operators_{true}, closed_{false};
};

namespace detail {
inline double seconds_since_1970() {
  timeval time{};
  ::gettimeofday(&time, nullptr);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}
/// With those above it.
inline void make_summary_directory(const std::string& path) {
  if (io::directory_exists(path)) return;
  io::check_path(path);
  if (const std::string above = io::directory_of(path); above != path) make_summary_directory(above);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) io::throw_system_error("make the directory", path);
}
inline io::EventFileName summary_file(const std::string& folder, const SummaryRecordConfig& config, bool lineage) {
  const std::string suffix = lineage ? "_lineage" : config.file_suffix.value_or("_MS");
  return config.format == SummaryFormat::mindspore
             ? io::mindspore_event_file(folder, config.file_prefix, suffix, get_context().device_id)
             : io::tensorboard_event_file(folder, config.file_prefix, config.file_suffix.value_or(""));
}
/// Throws ValueError for a name. Negative sizes are none, with a warning.
inline io::EventWriterConfig summary_writer(const SummaryRecordConfig& config) {
  io::detail::check_file_name_part("file_prefix", config.file_prefix);
  io::detail::check_file_name_part("file_suffix", config.file_suffix.value_or(""));
  io::EventWriterConfig result{.max_file_size = config.max_file_size};
  if (result.max_file_size && *result.max_file_size < 0) {
    logging::warning("SummaryRecord: max_file_size must be 0 or more, got ", *result.max_file_size,
                     ": files get as large as they get.");
    result.max_file_size.reset();
  }
  if (config.format == SummaryFormat::mindspore) result.mode_when_closed = 0400;
  else result.mode = 0666;
  return result;
}
/// The records of the program that are open. The last one gets what summary operators see.
class OpenSummaryRecords {
 public:
  static OpenSummaryRecords& of_program() {
    static auto* const records = new OpenSummaryRecords;  // records may outlive statics
    return *records;
  }
  void add(SummaryRecord* record) {
    const std::lock_guard lock(mutex_);
    all_.push_back(record);
    ops::summary_sink.store(&see, std::memory_order_release);
  }
  void remove(SummaryRecord* record) {
    const std::lock_guard lock(mutex_);
    all_.erase(std::remove(all_.begin(), all_.end(), record), all_.end());
    if (all_.empty()) ops::summary_sink.store(nullptr, std::memory_order_release);
  }

 private:
  static void see(std::string_view plugin, std::string_view name, const AnyTensor& value) {
    OpenSummaryRecords& records = of_program();
    const std::lock_guard lock(records.mutex_);
    for (auto record = records.all_.rbegin(); record != records.all_.rend(); ++record)
      if (!(*record)->closed_) return (*record)->see(plugin, name, value);
  }

  std::mutex mutex_;
  std::vector<SummaryRecord*> all_;
};
}  // namespace detail

inline SummaryRecord::SummaryRecord(const std::string& log_dir, const SummaryRecordConfig& config)
    : format_(config.format),
      values_(detail::summary_file(log_dir, config, false), detail::summary_writer(config)),
      lineage_(detail::summary_file(log_dir, config, true), detail::summary_writer(config)) {
  detail::make_summary_directory(log_dir);
  detail::OpenSummaryRecords::of_program().add(this);
}
inline SummaryRecord::~SummaryRecord() {
  detail::OpenSummaryRecords::of_program().remove(this);
  close();
}

inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, const AnyTensor& value) try {
  if (name.empty()) throw_error<ValueError>("SummaryRecord.add_value: the name of a ", plugin, " is empty.");
  add(plugin, {std::string(name), detail::summary_value(format_, plugin, name, value)});
} catch (const std::bad_alloc&) {
  io::refuse_file(value.bytes(), log_dir());
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, double value) {
  add_value(plugin, name, AnyTensor(Dtype::float64, {}, &value));
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view, const io::EventGraph& value) {
  detail::check_summary_plugin(plugin, "graph");
  add(plugin, io::EventContent::graph,
      format_ == SummaryFormat::mindspore ? io::mindspore_graph_message(value) : io::tensorboard_graph_message(value));
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, const io::TrainLineage& value) {
  add_lineage(plugin, "train_lineage", io::EventContent::train_lineage, name, value);
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, const io::EvalLineage& value) {
  add_lineage(plugin, "eval_lineage", io::EventContent::eval_lineage, name, value);
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, const io::DatasetGraph& value) {
  add_lineage(plugin, "dataset_graph", io::EventContent::dataset_graph, name, value);
}
inline void SummaryRecord::add_value(std::string_view plugin, std::string_view name, const io::CustomLineage& value) {
  add_lineage(plugin, "custom_lineage_data", io::EventContent::custom_lineage, name, value);
}
inline void SummaryRecord::add(std::string_view plugin, io::EventValue value) {
  const std::lock_guard lock(mutex_);
  for (Pending& other : pending_)
    if (auto* const before = std::get_if<io::EventValue>(&other.what);
        before && before->tag == value.tag && other.plugin == plugin) {
      logging::warning("SummaryRecord.add_value: '", value.tag, "' has two values of ", plugin,
                       " in one step; the newer one is recorded.");
      *before = std::move(value);
      return;
    }
  push({std::string(plugin), std::move(value)});
}
inline void SummaryRecord::add(std::string_view plugin, io::EventContent content, std::string message) {
  io::Event event;
  event.content = content;
  event.message = std::move(message);
  const std::lock_guard lock(mutex_);
  push({std::string(plugin), std::move(event)});
}
inline void SummaryRecord::push(Pending pending) {
  const auto same = [&](const Pending& other) { return other.plugin == pending.plugin; };
  pending.group = static_cast<std::size_t>(std::find_if(pending_.begin(), pending_.end(), same) - pending_.begin());
  pending_.push_back(std::move(pending));
}

inline void SummaryRecord::see(std::string_view plugin, std::string_view name, const AnyTensor& value) try {
  if (!takes_operators()) return;
  const std::lock_guard lock(mutex_);
  auto seen = std::find_if(seen_.begin(), seen_.end(),
                           [&](const Seen& one) { return one.name == name && one.plugin == plugin; });
  if (seen == seen_.end()) seen = seen_.insert(seen_.end(), {std::string(plugin), std::string(name), {}, {}});
  const auto* const bytes = static_cast<const std::byte*>(value.data);
  seen->bytes.assign(bytes, bytes + value.bytes());
  seen->tensor = value;
} catch (const std::bad_alloc&) {
  io::refuse_file(value.bytes(), log_dir());
}
inline void SummaryRecord::add_seen() {
  std::vector<Seen> seen;
  {
    const std::lock_guard lock(mutex_);
    seen.swap(seen_);
  }
  for (Seen& one : seen) {
    one.tensor.data = one.bytes.data();
    if (one.plugin == "image" && !io::has_png) {
      static std::atomic<bool> told{false};
      if (!told.exchange(true))
        logging::warning("The images of image_summary are not recorded: this program was built without libpng (CMake: ",
                         "tenon::png).");
      continue;
    }
    try {
      add_value(one.plugin, one.name, one.tensor);
    } catch (const Error& error) {  // what a network shows does not end its training
      if (is_first_refusal(one.plugin, one.name))
        logging::warning("The ", one.plugin, " '", one.name, "' of ", one.plugin,
                         "_summary is not recorded: ", error.what());
    }
  }
}
inline bool SummaryRecord::is_first_refusal(std::string_view plugin, std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known_plugin, known_name] : refused_)
    if (known_plugin == plugin && known_name == name) return false;
  refused_.emplace_back(plugin, name);
  return true;
}

inline bool SummaryRecord::record(std::int64_t step, const Filter& plugin_filter) try {
  if (takes_operators()) add_seen();
  const std::lock_guard lock(mutex_);
  if (closed_) {
    logging::error("SummaryRecord.record: the record is closed, step ", step, " is not in it.");
    return false;
  }
  std::vector<Pending> pending = std::exchange(pending_, {});
  // values of one plugin stand together, plugins in the order in which they came
  std::stable_sort(pending.begin(), pending.end(),
                   [](const Pending& a, const Pending& b) { return a.group < b.group; });
  bool written = true;
  io::Event values;
  values.wall_time = detail::seconds_since_1970(), values.step = step;
  for (Pending& one : pending) {
    if (plugin_filter && !plugin_filter(one.plugin)) continue;
    if (auto* const value = std::get_if<io::EventValue>(&one.what)) {
      values.values.push_back(std::move(*value));
    } else {
      io::Event& event = std::get<io::Event>(one.what);
      event.wall_time = values.wall_time, event.step = step;
      written = write(event) && written;
    }
  }
  return (values.values.empty() || write(values)) && written;
} catch (const std::bad_alloc&) {
  io::refuse_file(0, log_dir());
}
inline bool SummaryRecord::write(const io::Event& event) {
  if (values_.failed() || lineage_.failed()) return false;
  const bool lineage = event.content != io::EventContent::values && event.content != io::EventContent::graph;
  if (lineage) return lineage_.write(io::mindspore_event_message(event));
  const auto message = [this](const io::Event& one) {
    return format_ == SummaryFormat::mindspore ? io::mindspore_event_message(one) : io::tensorboard_event_message(one);
  };
  if (!values_.begun() && !values_.stopped()) {
    io::Event first;
    first.wall_time = event.wall_time, first.content = io::EventContent::version;
    first.message = format_ == SummaryFormat::mindspore ? io::mindspore_event_version : io::tensorboard_event_version;
    values_.write(message(first));
  }
  return values_.write(message(event));
}
inline void SummaryRecord::flush() {
  const std::lock_guard lock(mutex_);
  values_.flush();
  lineage_.flush();
}
inline void SummaryRecord::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pending_.clear();
  seen_.clear();
  values_.close();
  lineage_.close();
}
inline void SummaryRecord::set_mode(std::string_view mode) {
  if (mode != "train" && mode != "eval")
    throw_error<ValueError>("SummaryRecord.set_mode: the mode is 'train' or 'eval', got '", mode, "'.");
  mode_is_train_ = mode == "train";
}
inline std::string SummaryRecord::log_dir() const {
  const std::lock_guard lock(mutex_);
  return values_.path();
}

}  // namespace tenon
