// Appends records to an event file while a program runs, and stops where the disk is full.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/log/log.hpp>
#include <tenon/io/event/event_file_name.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/tf_record.hpp>

namespace tenon::inline TENON_ABI::io {

struct EventWriterConfig {
  std::optional<std::int64_t> max_file_size{};  // bytes; none: no limit
  unsigned mode = 0600;                         // of the file while it is written
  std::optional<unsigned> mode_when_closed{};
};

/// An event file that grows. It is made by the first record. A record goes to the system in one piece; what cannot be
/// written whole is taken back, so that nothing is half-written. The program continues whatever happens: a disk that is
/// full or nearly so (less than 32 times the record is free), a folder that is gone, a file that reaches its size give
/// one warning, and the file gets no more records. For one thread.
class EventWriter {
 public:
  explicit EventWriter(EventFileName name, const EventWriterConfig& config = {})
      : name_(std::move(name)), config_(config) {}
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter() { close(); }

  /// The path of the file, which is final when the file is there.
  std::string path() const { return name_.path(); }
  bool begun() const { return file_.valid(); }
  bool stopped() const { return stopped_; }
  /// Whether the system is the reason, which a second file would meet, too.
  bool failed() const { return failed_; }

  /// Adds a record. False if it is not in the file.
  bool write(std::string_view message);
  /// Waits until the disk has everything.
  void flush();
  void close();

 private:
  bool open();
  bool has_room(std::size_t bytes);
  [[gnu::cold]] bool stop(std::string_view why);
  [[gnu::cold]] bool stop_by_system(std::string_view act);

  EventFileName name_;
  EventWriterConfig config_;
  FileHandle file_{-1};
  std::int64_t size_ = 0;
  bool stopped_ = false, failed_ = false;
};

inline bool EventWriter::write(std::string_view message) {
  if (stopped_) return false;
  std::string record;
  try {
    record = tf_record(message);
  } catch (const std::bad_alloc&) {
    return stop(text("there is no memory for a record of ", message.size(), " bytes"));
  }
  if (!file_.valid() && !open()) return false;
  if (!has_room(record.size())) return false;
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return stop_by_system("write");
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += static_cast<std::int64_t>(record.size());
  return true;
}
inline void EventWriter::flush() {
  if (file_.valid() && ::fsync(file_.get()) != 0 && errno != EINVAL && errno != EROFS) stop_by_system("write");
}
inline void EventWriter::close() {
  if (!file_.valid()) return;
  // a file system without modes is no reason to say anything
  if (config_.mode_when_closed) [[maybe_unused]]
    const int ignored = ::fchmod(file_.get(), *config_.mode_when_closed);
  file_ = FileHandle(-1);
  stopped_ = true;
}
inline bool EventWriter::open() {
  constexpr int most_tries = 1000;
  for (int i = 0; i < most_tries; ++i, ++name_.seconds) {
    file_ = FileHandle(::open(path().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, config_.mode));
    if (file_.valid()) return true;
    if (errno != EEXIST) break;
  }
  return stop_by_system("make");
}
inline bool EventWriter::has_room(std::size_t bytes) {
  constexpr std::uint64_t times = 32;  // as MindSpore
  struct statvfs disk{};
  if (::statvfs(path().c_str(), &disk) != 0) return stop_by_system("find");
  if (std::uint64_t{disk.f_bavail} * disk.f_frsize < bytes * times)
    return failed_ = true, stop("the disk is nearly full");
  if (!config_.max_file_size || std::int64_t(bytes) <= *config_.max_file_size - size_) return true;
  return stop(text("max_file_size allows ", *config_.max_file_size, " bytes, ", size_,
                   " are there, and the next record ", "has ", bytes));
}
inline bool EventWriter::stop(std::string_view why) {
  logging::warning("The event file '", path(), "' gets no more records: ", why, ". The program goes on.");
  close();
  stopped_ = true;
  return false;
}
inline bool EventWriter::stop_by_system(std::string_view act) {
  const std::string reason = std::strerror(errno);
  if (file_.valid()) [[maybe_unused]]
    const int ignored = ::ftruncate(file_.get(), size_);  // a part of a record
  failed_ = true;
  return stop(text("the system could not ", act, " it (", reason, ")"));
}

}  // namespace tenon::io
