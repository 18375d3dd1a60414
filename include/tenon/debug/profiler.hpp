// Profiler: the time and the memory that steps use.
#pragma once
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/log/log.hpp>
#include <tenon/debug/profiler/csv.hpp>
#include <tenon/debug/profiler/memory_map.hpp>
#include <tenon/debug/profiler/options.hpp>
#include <tenon/debug/profiler/table.hpp>
#include <tenon/debug/profiler/timeline.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/own_path.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
inline EventLimit event_limit(const ProfilerOptions& options) {
  constexpr std::size_t bytes_of_event = 400;  // in the timeline
  EventLimit limit;
  limit.operators = std::size_t(options.timeline_limit) * 1'000'000 / bytes_of_event;
  limit.fp_point = options.fp_point;
  limit.bp_point = options.bp_point;
  return limit;
}
}  // namespace detail

/// From its construction on, measures every step of every network, and every operation in it, in both modes and all
/// threads:
///
///     debug::Profiler profiler({.output_path = "data"});
///     model.train(10, train);
///     profiler.analyse();
///
/// analyse() prints text(), a table of the time of a step, and writes files with MindSpore's names and columns into
/// <output_path>/profiler, {id} being the context's device_id:
///
///     cpu_op_type_info_{id}.csv, cpu_op_detail_info_{id}.csv   times of types of operators, and of operators
///     op_execute_timestamp_{id}.txt                            when they have run
///     step_trace_raw_{id}_detail_time.csv                      steps of training, their forward and backward parts
///     minddata_pipeline_raw_{id}.csv                           how long steps have waited for data
///     memory_usage_summary_{id}.json, memory_usage_details_{id}.json
///     cpu_timeline_display_{id}.json                           for chrome://tracing and https://ui.perfetto.dev
///     cpu_timeline_summary_{id}.json
///
/// Weights are bit-identical with and without a profiler. Sums cover the whole run; events are kept from the beginning,
/// up to a limit. If files cannot be written, one warning reports this, and the run continues. Operators outside of
/// steps are measured in the scope of `const Observing scope(profiler);`. Only one profiler may be active at a time;
/// construct, start, and stop it while no step runs. Source: MindSpore's Profiler, of which 1.5 refuses PyNative mode.
class Profiler {
 public:
  /// Throws RuntimeError if another profiler exists that has not been analysed, ValueError for an illegal option.
  template <class Options = ProfilerOptions>
  explicit Profiler(const Options& options = {}) : Profiler(options, false) {
    static_assert(tenon::detail::may_observe<Options>,
                  "a profiler needs a program that can be observed: include <tenon/debug/debug.hpp> before all "
                  "other headers of Tenon, or compile all of it with -DTENON_OBSERVE");
  }
  /// A profiler that another one may replace: the profiler of the setting enable_profiling.
  struct GivesWay {};
  Profiler(const ProfilerOptions& options, GivesWay) : Profiler(options, true) {}
  ~Profiler() {
    watching_.reset();
    release();
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Resumes measuring. Throws RuntimeError if it already measures.
  void start();
  /// Measures nothing until start(). Throws RuntimeError if it does not measure.
  void stop();
  /// Stops, prints the table, and writes the files.
  void analyse() {
    std::fputs(finish().c_str(), stdout);
    std::fflush(stdout);
  }
  /// The same without printing: the table.
  std::string finish();

  /// The measurements up to now. Throws RuntimeError inside of a step.
  Profile profile() const;
  /// These measurements as a table.
  std::string text() const { return profile_text(profile(), measured_peak()); }
  /// The folder of the files.
  const std::string& folder() const { return folder_; }
  bool gave_way() const { return gave_way_; }
  bool has_seen_nothing() const;
  /// Whether this thread is in a step that it measures.
  bool in_step() const { return recorders_.in_step(); }

  void before(const Operation& operation) { recorders_.before(operation); }
  void after(const Operation& operation) { recorders_.after(operation); }
  void ran(const Operation& operation, std::span<const OperationRun> runs) { recorders_.ran(operation, runs); }
  static constexpr ObserverClock clock = ticks_now;

 private:
  Profiler(const ProfilerOptions& options, bool gives_way);
  static std::atomic<Profiler*>& current() {
    static constinit std::atomic<Profiler*> profiler{nullptr};
    return profiler;
  }
  void claim() {
    Profiler* other = nullptr;
    if (current().compare_exchange_strong(other, this) || other == this) return;
    if (!other->gives_way_) throw_error<RuntimeError>("Do not init twice in the profiler.");
    logging::warning("The program's own Profiler takes the place of that of the setting 'enable_profiling'.");
    other->watching_.reset();
    other->gave_way_ = true;
    current() = this;
  }
  void release() {
    Profiler* own = this;
    current().compare_exchange_strong(own, nullptr);
  }
  void watch() {
#if defined(TENON_OBSERVE)
    watching_.emplace(recorders_);
#endif
  }
  void find_folder();
  void write_files(const Profile& profile);
  void warn(std::string_view why);

  ProfilerOptions options_;
  std::string folder_;
  bool gives_way_ = false, gave_way_ = false, has_warned_ = false;
  TickRate rate_;
  Ticks begin_ = ticks_now();
  mutable detail::Recorders recorders_;
  std::optional<Watching<detail::Recorders>> watching_;
};

inline Profiler::Profiler(const ProfilerOptions& options, bool gives_way)
    : options_(options), gives_way_(gives_way), recorders_(detail::event_limit(options), options.op_time) {
  io::check_path(options.output_path);
  constexpr int most = 4096;  // the text of the file is made in memory
  if (options.timeline_limit < 0 || options.timeline_limit > most)
    throw_error<ValueError>("Profiler: timeline_limit must be a number of megabytes from 0 to ", most, ", got ",
                            options.timeline_limit, ".");
  claim();
  folder_ = io::join_path(options.output_path, "profiler");
  find_folder();
  if (options.start_profile) watch();
}
inline void Profiler::start() {
  if (watching_) throw_error<RuntimeError>("The profiler has already started. Call stop() before start().");
  claim();
  recorders_.each([](detail::ThreadRecorder& thread) { thread.pause(); });
  watch();
}
inline void Profiler::stop() {
  if (!watching_) throw_error<RuntimeError>("The profiler has not started. Call start() before stop().");
  watching_.reset();
}
inline Profile Profiler::profile() const {
  detail::ProfileSum sum(begin_, rate_.seconds_per_tick());
  recorders_.each([&](const detail::ThreadRecorder& thread) { sum.add(thread); });
  return sum.finish();
}
inline bool Profiler::has_seen_nothing() const {
  bool nothing = true;
  recorders_.each([&](const detail::ThreadRecorder& thread) {
    nothing &= thread.records().empty() && thread.groups().size() == 1;
  });
  return nothing;
}
inline std::string Profiler::finish() {
  const Profile measured = profile();
  watching_.reset();
  release();
  write_files(measured);
  return profile_text(measured, measured_peak());
}
inline void Profiler::warn(std::string_view why) {
  if (!has_warned_)
    logging::warning("The profiler writes no files into '", folder_, "', and measures all the same: ", why);
  has_warned_ = true;
}
/// From the root on, which stays right when the program changes folders.
inline void Profiler::find_folder() {
  folder_ = io::own_folder(folder_);
  const std::unique_ptr<char, void (*)(void*)> whole(::realpath(folder_.c_str(), nullptr), std::free);
  if (!whole) return warn("the folder cannot be made.");
  folder_ = whole.get();
  if (::access(whole.get(), W_OK | X_OK) != 0) warn("it cannot be written.");
}
inline void Profiler::write_files(const Profile& profile) {
  const std::string id = std::to_string(get_context().device_id);
  const long process = long(::getpid());
  try {
    io::make_directories(folder_);
    const auto write = [&](const std::string& name, const std::string& content) {
      io::write_file(io::join_path(folder_, name), content);
    };
    write("cpu_op_type_info_" + id + ".csv", op_type_csv(profile));
    write("cpu_op_detail_info_" + id + ".csv", op_detail_csv(profile, measured_peak(), process));
    write("op_execute_timestamp_" + id + ".txt", op_timestamp_text(profile));
    write("step_trace_raw_" + id + "_detail_time.csv", step_trace_csv(profile));
    write("minddata_pipeline_raw_" + id + ".csv", pipeline_csv(profile));
    write("memory_usage_summary_" + id + ".json", memory_summary_json(profile));
    write("memory_usage_details_" + id + ".json", memory_details_json(profile));
    write("cpu_timeline_display_" + id + ".json",
          timeline_json(profile, process, std::size_t(options_.timeline_limit) * 1'000'000));
    write("cpu_timeline_summary_" + id + ".json", timeline_summary_json(profile));
  } catch (const std::exception& error) {
    warn(error.what());
  }
}

}  // namespace tenon::debug
