// The profiler that enable_profiling or the variable PROFILING_MODE switches on, without a change of the program.
#pragma once
#include <memory>

#include <tenon/core/context/tools.hpp>
#include <tenon/debug/profiler.hpp>

namespace tenon::inline TENON_ABI::debug::detail {

/// Measures from the moment at which the setting becomes True until it becomes False, or the program ends by return or
/// exit(). Then the files are written into the folder that profiling_options say, and the table goes to the error
/// stream: the output is the program's. A Profiler of the program's own takes its place.
class ProfilerSwitch {
 public:
  static void follow() {
    static auto* const only = new ProfilerSwitch;  // statics may run steps while they are destroyed
    only->set(get_context().enable_profiling);
  }

 private:
  void set(bool on) {
    if (on == is_on_) return;
    is_on_ = on;
    if (on) begin();
    else end();
  }
  void begin() {
    ProfilerOptions options;
    try {
      options = profiler_options_of(get_context().profiling_options);
    } catch (const Error& error) {
      logging::warning("The profiler measures without its options: ", error.what());
    }
    try {
      profiler_ = std::make_unique<Profiler>(options, Profiler::GivesWay{});
    } catch (const RuntimeError&) {
      return logging::warning("Config 'enable_profiling' does nothing: the program has a Profiler of its own.");
    }
    process_ = ::getpid();
    static const int registered = std::atexit([] { at_exit().end_at_exit(); });
    at_exit(this);
    (void)registered;
  }
  /// Throws nothing: exit() in the middle of a step comes here, too.
  void end() {
    if (!profiler_) return;
    try {
      if (profiler_->in_step()) profiler_->stop();
      if (!profiler_->gave_way() && !profiler_->has_seen_nothing()) std::fputs(profiler_->finish().c_str(), stderr);
    } catch (const std::exception& error) {
      logging::warning("The profiler has no result: ", error.what());
    }
    if (profiler_->in_step()) profiler_.release();  // the end of the step still tells it
    else profiler_.reset();
  }
  /// A child of a fork leaves what its parent has begun to its parent.
  void end_at_exit() {
    if (::getpid() == process_) end();
  }
  static ProfilerSwitch& at_exit(ProfilerSwitch* set = nullptr) {
    static ProfilerSwitch* only = nullptr;
    if (set) only = set;
    return *only;
  }

  bool is_on_ = false;
  std::unique_ptr<Profiler> profiler_;
  pid_t process_ = 0;
};

inline const tenon::detail::HasTool has_profiler(tenon::detail::Tool::profiler, ProfilerSwitch::follow);
/// set_context tells of changes; what the environment says is there before.
inline const bool follows_environment = std::getenv("PROFILING_MODE") && (ProfilerSwitch::follow(), true);

}  // namespace tenon::debug::detail
