// The dump that the environment or set_context switches on: this header in a program, and no line of its source.
#pragma once
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/context/tools.hpp>
#include <tenon/debug/dump/data_dump.hpp>

namespace tenon::inline TENON_ABI::debug {

/// The watcher behind MINDSPORE_DUMP_CONFIG, whose file is read at the first step, once per process, and behind
/// set_context({.enable_dump = true, .save_dump_path = folder}), which dumps everything. The variable goes first.
/// While neither is there, nobody watches, and a step costs what it costs without this header.
class DumpTool {
 public:
  static constexpr bool every_value = true;

  static DumpTool& instance() {
    static DumpTool tool;
    return tool;
  }
  DumpTool() = default;
  DumpTool(const DumpTool&) = delete;
  DumpTool& operator=(const DumpTool&) = delete;
  ~DumpTool() { watch(false); }

  /// Watches from now on if a dump is asked for.
  static void look_at_environment() {
    if (config_file()) instance().watch(true);
  }
  static void look_at_settings() {
    if (!config_file()) instance().watch(get_context().enable_dump);
  }

  // What the exception of a configuration that is wrong ends is the step.
  bool begin_step(const NetworkStep& step) {
    DataDump* dump = nullptr;
    {
      const std::lock_guard lock(mutex_);
      dump = chosen();
    }
    return dump->begin_step(step);
  }
  void end_step(const NetworkStep& step) { dump_->end_step(step); }
  void before(const Operation&) {}
  void after(const Operation& operation, std::span<const AnyTensor> operands, std::span<const AnyTensor> results) {
    dump_->after(operation, operands, results);
  }

 private:
  static const char* config_file() {
    const char* const path = std::getenv("MINDSPORE_DUMP_CONFIG");
    return path && *path ? path : nullptr;
  }
  [[gnu::cold]] void watch(bool wanted) {
    if (wanted == bool(watching_)) {
    } else if (wanted) watching_ = std::make_unique<Watching<DumpTool>>(*this);
    else {
      watching_.reset();
      if (dump_) dump_->finish();
    }
  }
  [[gnu::cold]] DataDump* chosen() {
    if (const char* const file = config_file()) {
      if (!dump_) dump_ = from_file(file);
    } else if (const std::string& folder = get_context().save_dump_path; !dump_ || dump_->config().path != folder)
      dump_ = std::make_unique<DataDump>(dump_everything(folder));
    return dump_.get();
  }
  [[gnu::cold]] static std::unique_ptr<DataDump> from_file(const char* file) {
    auto dump = std::make_unique<DataDump>(read_dump_config(file));
    if (!dump->config().enabled)
      logging::warning("MINDSPORE_DUMP_CONFIG: neither e2e_dump_settings nor async_dump_settings of ", file,
                       " is enabled, so nothing is dumped.");
    return dump;
  }

  std::mutex mutex_;
  std::unique_ptr<DataDump> dump_;
  std::unique_ptr<Watching<DumpTool>> watching_;
};

inline const tenon::detail::HasTool has_dump = [] {
  DumpTool::look_at_environment();
  return tenon::detail::HasTool(tenon::detail::Tool::dump, &DumpTool::look_at_settings);
}();

}  // namespace tenon::debug
