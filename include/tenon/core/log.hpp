// Log lines on the error stream, in MindSpore's form: `logging::warning("learning rate ", rate, " is above 1")`.
#pragma once
#include <atomic>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include <tenon/core/error.hpp>
#if TENON_DEFINES
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#endif

namespace tenon::inline TENON_ABI::logging {

enum class Level { debug, info, warning, error, critical };

/// The first part of a message, with the place of the call.
struct Start {
  std::string_view text;
  std::source_location at;
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view>
  Start(const Text& begin, std::source_location call = std::source_location::current()) : text(begin), at(call) {}
};

namespace detail {

std::atomic<Level>& threshold();

/// One line in one system call, so that the lines of several threads and processes do not mix.
void write_line(Level level, const std::source_location& at, const std::string& message);

}  // namespace detail

/// The lowest level that is written; set_level() overrides the environment.
inline Level level() { return detail::threshold().load(std::memory_order_relaxed); }
inline void set_level(Level level) { detail::threshold().store(level, std::memory_order_relaxed); }
inline bool is_written(Level level) { return level >= logging::level(); }

/// Writes one line of texts and numbers if the level is high enough. The first part is a text.
template <class... Parts>
void write(Level level, const Start& start, const Parts&... parts) {
  if (is_written(level)) detail::write_line(level, start.at, text(start.text, parts...));
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
/// GLOG_v = 0 .. 4 is the lowest level that is written, warning without it. With GLOG_logtostderr=0 MindSpore logs to
/// files and still shows warnings and more: until there are files, that is what is shown.
inline Level level_of_environment() {
  const char* asked = std::getenv("GLOG_v");
  const bool known = asked && asked[0] >= '0' && asked[0] <= '4' && asked[1] == 0;
  Level level = known ? Level(asked[0] - '0') : Level::warning;
  const char* screen = std::getenv("GLOG_logtostderr");
  if (screen && std::string_view(screen) == "0" && level < Level::warning) level = Level::warning;
  return level;
}
/// "2026-11-21-00:22:59.302.052", local time with milliseconds and microseconds.
inline std::string time_text() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char seconds[32];
  std::string s(seconds, std::strftime(seconds, sizeof seconds, "%Y-%m-%d-%H:%M:%S", &local));
  const auto three = [](long value) { return std::to_string(1000 + value).substr(1); };
  return s + "." + three(now.tv_nsec / 1000000) + "." + three(now.tv_nsec / 1000 % 1000);
}
inline std::string_view program_name() {
#if defined(__GLIBC__)
  return program_invocation_short_name;
#else
  return "tenon";
#endif
}
inline std::string thread_text() {
  auto id = reinterpret_cast<std::uintptr_t>(::pthread_self());
  std::string s;
  do s.insert(s.begin(), "0123456789abcdef"[id & 15]);
  while (id >>= 4);
  return s;
}
/// "run" of "static void ns::Job::run(int)".
inline std::string_view bare_name(std::string_view function) {
  function = function.substr(0, function.find('('));
  const auto start = function.find_last_of(" :*&");
  return start == function.npos ? function : function.substr(start + 1);
}
/// Headers of Tenon by their path below include/, others as the compiler was given them.
inline std::string_view short_path(std::string_view file) {
  const auto start = file.rfind("include/tenon/");
  return start == file.npos ? file : file.substr(start + 8);
}

TENON_INLINE std::atomic<Level>& threshold() {
  static std::atomic<Level> level = level_of_environment();
  return level;
}
TENON_INLINE void write_line(Level level, const std::source_location& at, const std::string& message) {
  static constexpr std::string_view names[]{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const std::string line =
      text("[", names[int(level)], "] ME(", ::getpid(), ",", thread_text(), ",", program_name(), "):", time_text(),
           " [", short_path(at.file_name()), ":", at.line(), "] ", bare_name(at.function_name()), "] ", message, "\n");
  const char* rest = line.data();
  for (std::size_t left = line.size(); left;) {
    const ::ssize_t written = ::write(STDERR_FILENO, rest, left);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest += written, left -= static_cast<std::size_t>(written);
  }
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::logging
