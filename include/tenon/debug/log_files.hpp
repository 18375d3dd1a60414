// Log lines in files: a program with this header, in any of its sources, follows GLOG_logtostderr=0 and the levels of
// modules.
#pragma once
#include <string>

#include <tenon/core/log/log.hpp>
#include <tenon/debug/log_levels.hpp>
#if TENON_DEFINES
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/debug/rank.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/host_name.hpp>
#endif

namespace tenon::inline TENON_ABI::debug {

namespace detail {

/// Takes each line of core/log/log.hpp; true if the error stream gets it, too.
///
///   <GLOG_log_dir>/rank_<RANK_ID>/logs/mindspore.<host>.<user>.log.<LEVEL>.<date>-<time>.<process>
///
/// A file has the lines of its level and above, INFO those of DEBUG, too, ERROR those of CRITICAL; mindspore.<LEVEL> is
/// a link to the newest. A file that has GLOG_max_log_size (or GLOG_log_max) MB is followed by another one, and so is
/// one that was removed, or that the parent process writes. Levels from GLOG_stderrthreshold on are shown on the error
/// stream, too. If a file cannot be written (no space, no permission, its folder is gone), one warning reports this,
/// and from then on all lines go to the error stream. It never throws, waits for no lock, and survives fork().
///
/// source      MindSpore 2.10 and glog, whose files begin with a few lines about the machine: these have log lines only
bool write_to_log_files(logging::Level level, const std::string& line) noexcept;

#if !defined(TENON_COMPILED_PART)  // which many programs have that do not include this
inline const bool log_files_are_built_in =
    (__atomic_store_n(&logging::detail::line_sink, &write_to_log_files, __ATOMIC_RELEASE), true);
#endif

}  // namespace detail

#if TENON_DEFINES
namespace detail {

/// What the environment asks of log files.
struct LogFileSettings {
  std::string folder{};  // empty: there are none
  int screen_from = 2;   // the lowest level that the error stream gets, too
  mode_t mode = 0640;
  std::int64_t most_bytes = 50 << 20;
  std::string warnings{};  // lines about what it says wrong
};

inline std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

/// The variable's number, or the usual one and a line about the variable.
inline long number_of_environment(const char* variable, int base, long least, long most, long usual,
                                  std::string& warnings) {
  const std::string_view asked = environment(variable);
  if (asked.empty()) return usual;
  long number = 0;
  const auto [end, fault] = std::from_chars(asked.data(), asked.data() + asked.size(), number, base);
  if (fault == std::errc() && end == asked.data() + asked.size() && number >= least && number <= most) return number;
  warnings += text("Incorrect value, the value of ", variable, " must be a number", base == 8 ? " in octal digits" : "",
                   ", but got ", logging::detail::visible(asked), ". It is ", base == 8 ? "0640" : text(usual), ".\n");
  return usual;
}

/// 0 to 4, or a level's name.
inline int level_of_environment(const char* variable, std::string& warnings) {
  static constexpr std::string_view names[]{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const std::string_view asked = environment(variable);
  for (int i = 0; i < 5; ++i)
    if (asked == names[i] || asked == text(i)) return i;
  if (!asked.empty())
    warnings += text("Incorrect log level, please check the configuration of GLOG_v or GLOG_stderrthreshold, desired ",
                     "log level: 4-CRITICAL, 3-ERROR, 2-WARNING, 1-INFO, 0-DEBUG. But got ",
                     logging::detail::visible(asked), ". It is 2.\n");
  return 2;
}

/// The folder as it is called from wherever the program goes later.
inline std::string folder_of_logs(std::string_view asked, std::string& warnings) {
  const EnvironmentRank rank = rank_of_environment();
  if (!rank.refused.empty())
    warnings += text("Incorrect value, the value of RANK_ID must be a number, but got ",
                     logging::detail::visible(rank.refused), ". It is 0.\n");
  std::string here;
  if (asked[0] != '/')
    if (char* const path = ::getcwd(nullptr, 0)) here = text(path, "/"), std::free(path);
  return text(here, asked, "/rank_", rank.number, "/logs/");
}

/// Reads the environment. Any text gives settings.
inline LogFileSettings log_file_settings() {
  LogFileSettings s;
  if (environment("GLOG_logtostderr") != "0") return s;
  const std::string_view folder = environment("GLOG_log_dir");
  if (folder.empty()) {
    s.warnings = "When GLOG_logtostderr is set to 0, the directory of saving log GLOG_log_dir must be set, but got it "
                 "empty. Lines go to the error stream.\n";
    return s;
  }
  s.folder = folder_of_logs(folder, s.warnings);
  s.screen_from = level_of_environment("GLOG_stderrthreshold", s.warnings);
  s.mode = static_cast<mode_t>(number_of_environment("GLOG_logfile_mode", 8, 0, 0777, 0640, s.warnings));
  // the documents of MindSpore up to 2.0 call it GLOG_log_max, its source and later ones GLOG_max_log_size
  const bool old_name = environment("GLOG_max_log_size").empty();
  const char* const variable = old_name ? "GLOG_log_max" : "GLOG_max_log_size";
  s.most_bytes = std::int64_t{number_of_environment(variable, 10, 1, 1 << 30, 50, s.warnings)} << 20;
  return s;
}

/// A part of a file's name.
inline std::string name_part(std::string_view s) {
  constexpr std::size_t longest = 64;
  std::string part;
  for (const char c : s.substr(0, longest))
    part += logging::detail::is_letter(c) || logging::detail::is_digit(c) || c == '-' || c == '.' ? c : '_';
  return part;
}

/// The name of a new file of a level, without its folder.
inline std::string log_file_name(std::string_view level) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char time[32];
  time[std::strftime(time, sizeof time - 1, "%Y%m%d-%H%M%S", &local)] = 0;
  const std::string_view user = environment("USER");
  return text("mindspore.", name_part(io::host_name()), ".", user.empty() ? text("uid", ::getuid()) : name_part(user),
              ".log.", level, ".", time, ".", ::getpid());
}

/// One file after the other for the lines of one level and above.
class LogFile {
 public:
  explicit LogFile(std::string_view level) : level_(level) {}

  /// Appends the line to the file, or to a new one. False, with errno, if that cannot be; then no part of the line is
  /// there.
  bool append(const LogFileSettings& settings, const std::string& line) {
    if (!is_open() || (length_ > 0 && length_ + std::int64_t(line.size()) > settings.most_bytes)) {
      close();
      if (!open(settings)) return false;
    }
    for (std::size_t done = 0; done < line.size();) {
      const ::ssize_t count = ::write(descriptor_, line.data() + done, line.size() - done);
      if (count > 0) done += static_cast<std::size_t>(count);
      else if (count == 0 || errno != EINTR) return undo(count == 0 ? ENOSPC : errno);
    }
    length_ += std::int64_t(line.size());
    return true;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  /// Whether the file is one that this process has opened, and still has a name. The number is of no use any
  /// more if the program has closed all files that it found, as daemons do.
  bool is_open() {
    struct stat now;
    if (descriptor_ < 0) return false;
    const bool mine = ::fstat(descriptor_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
    if (!mine) descriptor_ = -1;
    return mine && now.st_nlink > 0 && process_ == ::getpid();
  }
  bool undo(int reason) {
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, length_);
    errno = reason;
    return false;
  }
  bool open(const LogFileSettings& settings) {
    const std::string name = log_file_name(level_);
    std::string last = name;
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
    // several files in one second
    for (int n = 1; (descriptor_ = ::open((settings.folder + last).c_str(), flags, settings.mode)) < 0; ++n) {
      if (errno != EEXIST || n == 10000) return false;
      last = text(name, ".", n);
    }
    struct stat status{};
    ::fstat(descriptor_, &status);
    device_ = status.st_dev;
    inode_ = status.st_ino;
    process_ = ::getpid();
    length_ = 0;
    link(settings.folder, last);
    return true;
  }
  /// Nothing is lost where there can be no link, or where something else has its name.
  void link(const std::string& folder, const std::string& name) const {
    const std::string link = text(folder, "mindspore.", level_), fresh = text(folder, ".", name);
    struct stat old;
    if (::lstat(link.c_str(), &old) == 0 && !S_ISLNK(old.st_mode)) return;
    if (::symlink(name.c_str(), fresh.c_str()) == 0 && ::rename(fresh.c_str(), link.c_str()) != 0)
      ::unlink(fresh.c_str());
  }

  std::string_view level_;
  int descriptor_ = -1;
  dev_t device_{};
  ino_t inode_{};
  pid_t process_ = 0;
  std::int64_t length_ = 0;
};

class LogFiles {
 public:
  LogFiles() {
    std::string_view rest = settings_.warnings;
    for (; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) tell(std::string(rest.substr(0, rest.find('\n'))));
    if (!settings_.folder.empty()) io::make_directories(settings_.folder, 0750);
  }

  bool write(logging::Level level, const std::string& line) {
    using enum logging::Level;
    if (settings_.folder.empty()) return true;
    const int last = level >= error ? 2 : level >= warning ? 1 : 0;
    for (int i = 0; i <= last; ++i)
      if (!files_[i].append(settings_, line)) return give_up(), true;
    return int(level) >= settings_.screen_from;
  }

 private:
  /// A line about the log itself, which cannot take the usual way.
  static void tell(const std::string& sentence, std::source_location at = std::source_location::current()) {
    logging::detail::write_to_screen(logging::detail::line_text(logging::Level::warning, at, sentence));
  }
  void give_up() {
    const std::string reason = std::strerror(errno);
    tell(text("Cannot write log files in '", logging::detail::visible(settings_.folder), "': ", reason,
              ". Lines go to the error stream."));
    settings_.folder.clear();
    for (LogFile& file : files_) file.close();
  }

  LogFileSettings settings_ = log_file_settings();
  LogFile files_[3]{LogFile("INFO"), LogFile("WARNING"), LogFile("ERROR")};
};

/// Made by the first line; a static object would be locked in a child that fork() makes meanwhile.
TENON_INLINE bool write_to_log_files(logging::Level level, const std::string& line) noexcept {
  static constinit std::atomic<LogFiles*> files{nullptr};
  try {
    if (!files.load()) files.store(new LogFiles);
    return files.load()->write(level, line);
  } catch (const std::exception&) {
    return true;  // no memory
  }
}

}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::debug
