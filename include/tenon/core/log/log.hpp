// Log lines on the error stream, in MindSpore's form: `logging::warning("learning rate ", rate, " is above 1")`.
#pragma once
#include <source_location>
#include <string>
#include <string_view>

#include <tenon/core/log/log_modules.hpp>
#include <tenon/core/thread/atomic.hpp>
#if TENON_DEFINES
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#endif

namespace tenon::inline TENON_ABI::logging {

/// The first part of a message, with the place of the call. A template would be compiled for each length of a literal.
struct Start {
  using Place = std::source_location;
  std::string_view text;
  Place at;
  Start(const char* begin, Place call = Place::current()) : text(begin), at(call) {}
  Start(const std::string& begin, Place call = Place::current()) : text(begin), at(call) {}
  Start(std::string_view begin, Place call = Place::current()) : text(begin), at(call) {}
};

namespace detail {

/// Levels plus 1. What is not written looks at `lowest` alone, the least of all modules. 0 is lower than all levels:
/// the environment has not been read.
struct Thresholds {
  tenon::detail::Atomic<int> lowest, of[module_count];
};
inline constinit Thresholds thresholds{};

/// What takes a line before the error stream (debug/log_files.hpp does); returns whether the line belongs there, too.
/// It is called by one thread at a time, and must not log. Read and written by __atomic_...: std::atomic would be one
/// more class to compile for every program.
using LineSink = bool (*)(Level, const std::string& line) noexcept;
inline constinit LineSink line_sink = nullptr;

/// A level plus 1 for each module, and lines about what the variables say wrong.
struct Levels {
  int of[module_count]{};
  std::string warnings{};
};
/// What GLOG_v asks for; null is a variable that is not set. Any text gives levels.
[[gnu::cold]] Levels levels_of(const char* glog_v);
/// What reads MS_SUBMODULE_LOG_v (debug/log_levels.hpp does).
using LevelReader = void (*)(const char* submodules, Levels&);
inline constinit LevelReader level_reader = nullptr;

/// Of what is not below the lowest threshold: whether the module of this place writes it.
[[gnu::cold]] bool module_writes(Level level, std::source_location at);

/// One line, from "[LEVEL]" to the end of line.
[[gnu::cold]] std::string line_text(Level level, std::source_location at, const std::string& message);

/// One line in one system call, so that the lines of several processes do not mix.
[[gnu::cold]] void write_to_screen(const std::string& line);

[[gnu::cold]] void write_line(Level level, std::source_location at, const std::string& message);

}  // namespace detail

/// The lowest level that the program's own lines have; set_level() overrides the environment, also its levels of
/// modules.
Level level();
void set_level(Level level);

/// Whether a line of this level is written, for a text that is costly to make.
inline bool is_written(Level level, std::source_location at = std::source_location::current()) {
  return int(level) + 1 >= detail::thresholds.lowest.load(tenon::detail::MemoryOrder::relaxed) &&
         detail::module_writes(level, at);
}

/// Writes one line of texts and numbers if the level is high enough. The first part is a text. Otherwise it costs one
/// comparison.
template <class... Parts>
void write(Level level, Start start, const Parts&... parts) {
  if (!is_written(level, start.at)) [[likely]]
    return;
  const std::string_view first = start.text;  // a copy, so that nothing is stored for a line that is not written
  detail::write_line(level, start.at, text(first, parts...));
}
template <class... Parts>
void debug(Start start, const Parts&... parts) {
  write(Level::debug, start, parts...);
}
template <class... Parts>
void info(Start start, const Parts&... parts) {
  write(Level::info, start, parts...);
}
template <class... Parts>
void warning(Start start, const Parts&... parts) {
  write(Level::warning, start, parts...);
}
template <class... Parts>
void error(Start start, const Parts&... parts) {
  write(Level::error, start, parts...);
}
template <class... Parts>
void critical(Start start, const Parts&... parts) {
  write(Level::critical, start, parts...);
}

#if TENON_DEFINES
namespace detail {
inline std::string_view program_name() {
#if defined(__GLIBC__)
  return program_invocation_short_name;
#else
  return "tenon";
#endif
}
/// "(123,7f0fe7a51b80,program):2026-11-21-00:22:59.302.052": process, thread, local time with milliseconds and
/// microseconds.
[[gnu::cold]] inline std::string origin_text() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char ids[48], seconds[40], fraction[24];
  std::snprintf(ids, sizeof ids, "(%d,%lx,", int(::getpid()), static_cast<unsigned long>(::pthread_self()));
  seconds[std::strftime(seconds, sizeof seconds - 1, "):%Y-%m-%d-%H:%M:%S", &local)] = 0;
  std::snprintf(fraction, sizeof fraction, ".%03d.%03d", int(now.tv_nsec / 1000000), int(now.tv_nsec / 1000 % 1000));
  return one_text({ids, program_name(), seconds, fraction});
}
/// "run" of "static void ns::Job::run(int)".
inline std::string_view bare_name(std::string_view function) {
  function = function.substr(0, function.find('('));
  const auto start = function.find_last_of(" :*&");
  return start == function.npos ? function : function.substr(start + 1);
}

/// The process whose thread makes a line and writes it, or 0.
inline constinit tenon::detail::Atomic<int> writer{0};

/// Waits for exclusive access; returns false after `rounds` attempts, of about 0.1 ms each.
[[gnu::cold]] inline bool take_turn(long rounds) {
  const int mine = ::getpid();
  for (int other = 0; !writer.compare_exchange_weak(other, mine, tenon::detail::MemoryOrder::acquire);) {
    if (other != mine) continue;  // no thread, or a thread of the parent, which a child that fork() has made lacks
    if (--rounds < 0) return false;
    other = 0;
    ::usleep(20);
  }
  return true;
}
struct Turn {
  Turn() { take_turn(__LONG_MAX__); }
  Turn(const Turn&) = delete;
  ~Turn() { writer.store(0, tenon::detail::MemoryOrder::release); }
};

/// The C library's time zone has a lock that a child finds as it was. So fork() waits until no thread makes a line; not
/// longer than a second, since one may wait for the reader of the error stream. It may be called several times.
[[gnu::cold]] inline void survive_fork() {
  static thread_local bool taken = false;
  const auto after = [] {
    if (taken) writer.store(0, tenon::detail::MemoryOrder::release);
    taken = false;
  };
  ::pthread_atfork([] { taken = taken || take_turn(10000); }, after, after);
}

[[gnu::cold]] TENON_INLINE Levels levels_of(const char* glog_v) {
  Levels levels;
  const std::string_view asked = glog_v ? glog_v : "";
  if (!asked.empty() && !is_level(asked))
    levels.warnings +=
        one_text({"Incorrect log level, please check the configuration of GLOG_v or GLOG_stderrthreshold, desired "
                  "log level: 4-CRITICAL, 3-ERROR, 2-WARNING, 1-INFO, 0-DEBUG. But got ",
                  visible(asked), ". It is 2.\n"});
  for (int& level : levels.of) level = threshold_of(is_level(asked) ? asked : "2");
  return levels;
}
[[gnu::cold, gnu::noinline]] inline void warn_of_missing(std::string& warnings, const char* asks, const char* then) {
  warnings += one_text({asks,
                        ", which this program has not built in: include <tenon/debug/log_files.hpp> in one of its "
                        "sources. ",
                        then, "\n"});
}
/// What the environment says of levels, and of files.
[[gnu::cold]] inline Levels levels_of_environment() {
  Levels levels = levels_of(std::getenv("GLOG_v"));
  const char* asked = std::getenv("MS_SUBMODULE_LOG_v");
  if (const LevelReader read = __atomic_load_n(&level_reader, __ATOMIC_ACQUIRE); asked && *asked) {
    if (read) read(asked, levels);
    else
      warn_of_missing(levels.warnings, "MS_SUBMODULE_LOG_v asks for levels of modules", "All have the one of GLOG_v.");
  }
  asked = std::getenv("GLOG_logtostderr");
  if (!asked || !*asked) asked = "1";
  const bool known = (*asked == '0' || *asked == '1') && !asked[1];
  if (!known)
    levels.warnings += one_text(
        {"Incorrect value, the value of GLOG_logtostderr must be 0 or 1, but got ", visible(asked), ". It is 1.\n"});
  else if (*asked == '0' && !__atomic_load_n(&line_sink, __ATOMIC_ACQUIRE))
    warn_of_missing(levels.warnings, "GLOG_logtostderr=0 asks for log files", "Lines go to the error stream.");
  return levels;
}

/// Stores the environment's levels. It takes no lock, so that a child that fork() made in the midst of it can read it
/// again; what set_level() has stored meanwhile stays.
[[gnu::cold]] inline void read_environment() {
  survive_fork();  // before the first line
  const Levels levels = levels_of_environment();
  int lowest = levels.of[0], unknown = 0;
  for (int i = 0; i < module_count; ++i, unknown = 0) {
    thresholds.of[i].compare_exchange_strong(unknown, levels.of[i]);
    if (levels.of[i] < lowest) lowest = levels.of[i];
  }
  thresholds.lowest.compare_exchange_strong(unknown, lowest);
  static constinit tenon::detail::Atomic<int> told{0};
  if (told.exchange(1)) return;
  const std::string& lines = levels.warnings;
  for (std::size_t begin = 0, end; (end = lines.find('\n', begin)) != lines.npos; begin = end + 1)
    warning(std::string_view(lines).substr(begin, end - begin));
}
TENON_INLINE bool module_writes(Level level, std::source_location at) {
  if (!thresholds.lowest.load(tenon::detail::MemoryOrder::acquire)) read_environment();
  return int(level) + 1 >= thresholds.of[module_of_file(at.file_name())].load(tenon::detail::MemoryOrder::relaxed);
}

TENON_INLINE std::string line_text(Level level, std::source_location at, const std::string& message) {
  static constexpr char names[][9]{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const char* const file = at.file_name();
  return one_text({"[", names[int(level)], "] ", modules[module_of_file(file)], origin_text(), " [", short_path(file),
                   ":", std::to_string(at.line()), "] ", bare_name(at.function_name()), "] ", message, "\n"});
}
TENON_INLINE void write_to_screen(const std::string& line) {
  const char* rest = line.data();
  for (std::size_t left = line.size(); left;) {
    const ::ssize_t written = ::write(STDERR_FILENO, rest, left);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest += written, left -= static_cast<std::size_t>(written);
  }
}

TENON_INLINE void write_line(Level level, std::source_location at, const std::string& message) {
  const Turn turn;
  const std::string line = line_text(level, at, message);
  const LineSink take = __atomic_load_n(&line_sink, __ATOMIC_ACQUIRE);
  if (!take || take(level, line)) write_to_screen(line);
}
}  // namespace detail
TENON_INLINE Level level() {
  if (!detail::thresholds.lowest.load(tenon::detail::MemoryOrder::acquire)) detail::read_environment();
  return Level(detail::thresholds.of[detail::module_index("ME")] - 1);
}
TENON_INLINE void set_level(Level level) {
  logging::level();
  for (tenon::detail::Atomic<int>& threshold : detail::thresholds.of) threshold = int(level) + 1;
  detail::thresholds.lowest = int(level) + 1;
}
#endif  // TENON_DEFINES

}  // namespace tenon::logging
