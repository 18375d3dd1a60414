// The dump that the environment or set_context switches on; the program only includes this header.
#pragma once
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/context/tools.hpp>
#include <tenon/debug/dump/mindspore_dump.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
[[gnu::cold]] inline const char* dump_config_file() {
  const char* const path = std::getenv("MINDSPORE_DUMP_CONFIG");
  return path && *path ? path : nullptr;
}

/// The dump of a file that the environment names, which is read at the first step and once per process, or else that of
/// the context.
class ChosenDump {
  using Files = Dump<MindSporeDump>;

 public:
  static constexpr bool every_value = true, every_view = true;

  // An exception for a wrong configuration ends the step.
  bool begin_step(const NetworkStep& step) {
    std::vector<Files*>& begun = begun_of_thread();
    begun.push_back(&chosen());
    try {
      return begun.back()->begin_step(step);
    } catch (...) {
      begun.pop_back();
      throw;
    }
  }
  void end_step(const NetworkStep& step) {
    Files* const dump = begun_of_thread().back();
    begun_of_thread().pop_back();
    dump->end_step(step);
  }
  void before(const Operation& operation) { begun_of_thread().back()->before(operation); }
  void after(const Operation& operation, std::span<const AnyTensor> operands, std::span<const AnyTensor> results) {
    begun_of_thread().back()->after(operation, operands, results);
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Held>& dump : dumps_) dump->files.finish();
  }

 private:
  /// Those that this thread's steps have begun with, the innermost at the end: the folder may change in a step.
  static std::vector<Files*>& begun_of_thread() {
    static thread_local std::vector<Files*> begun;
    return begun;
  }
  [[gnu::cold]] Files& chosen() {
    const std::lock_guard lock(mutex_);
    if (const char* const file = dump_config_file()) {
      if (dumps_.empty()) dumps_.push_back(from_file(file));
      return dumps_.front()->files;
    }
    const std::string& folder = get_context().save_dump_path;
    for (const std::unique_ptr<Held>& dump : dumps_)
      if (dump->files.writer().config().path == folder) return dump->files;
    dumps_.push_back(std::unique_ptr<Held>(new Held{mindspore_dump(dump_everything(folder))}));
    return dumps_.back()->files;
  }
  // nvcc lets a function's result become a member without a copy, but not an object by itself.
  struct Held {
    Files files;
  };
  [[gnu::cold]] static std::unique_ptr<Held> from_file(const char* file) {
    std::unique_ptr<Held> dump(new Held{mindspore_dump(read_dump_config(file))});
    if (!dump->files.writer().config().enabled)
      logging::warning("MINDSPORE_DUMP_CONFIG: neither e2e_dump_settings nor async_dump_settings of ", file,
                       " is enabled, so nothing is dumped.");
    return dump;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Held>> dumps_;  // one per folder, to the end: other threads may be in steps of them
};
}  // namespace detail

/// Follows MINDSPORE_DUMP_CONFIG, and set_context({.enable_dump = true, .save_dump_path = folder}), which dumps
/// everything; the variable has priority. Without both no watcher is active, and a step takes the same time as without
/// this header. At the end of the program it waits for all files.
class DumpTool {
 public:
  /// Before main().
  [[gnu::cold]] static void look_at_environment() {
    if (detail::dump_config_file()) instance().watch(true);
  }
  /// After set_context.
  [[gnu::cold]] static void look_at_settings() {
    if (detail::dump_config_file()) return;
    const bool wanted = get_context().enable_dump;
    if (wanted || made()) instance().watch(wanted);
  }

 private:
  static bool& made() {
    static constinit bool made = false;
    return made;
  }
  [[gnu::cold]] static DumpTool& instance() {
    made() = true;
    static DumpTool tool;
    return tool;
  }
  [[gnu::cold]] void watch(bool wanted) {
    if (wanted == bool(watching_)) return;
    if (wanted) watching_ = std::make_unique<Watching<detail::ChosenDump>>(dump_);
    else {
      watching_.reset();
      dump_.finish();
    }
  }

  detail::ChosenDump dump_;
  std::unique_ptr<Watching<detail::ChosenDump>> watching_;  // ends before the dump
};

inline const tenon::detail::HasTool has_dump = [] {
  DumpTool::look_at_environment();
  return tenon::detail::HasTool(tenon::detail::Tool::dump, &DumpTool::look_at_settings);
}();

}  // namespace tenon::debug
