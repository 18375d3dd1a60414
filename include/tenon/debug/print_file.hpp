// Prints of a program that includes this go to the file of the context's print_file_path. Needs protozero.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/context/tools.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/ops/print.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Appends what is printed to the file of print_file_path; io::parse_print() reads it. The first print creates the
/// file, and each print is written as a whole, so the file is valid at any time. After close() its mode is 0400; the
/// end of the program and a print to another path also close it. If its path comes back, as at the end of a
/// ContextScope, the next print opens it again and appends, until close(). After a fork the file belongs to the parent:
/// the output of the child goes to the screen, or to another path that it sets.
///
/// If the file can no longer be written (no space, no permission, removed, or already present), one warning reports
/// this, and the output goes to the screen until the path changes. No partial print remains, and the training
/// continues.
class PrintFileWriter {
 public:
  PrintFileWriter(const PrintFileWriter&) = delete;
  PrintFileWriter& operator=(const PrintFileWriter&) = delete;
  /// That of the program. It stays: statics may print while they are destroyed.
  static PrintFileWriter& instance() {
    static PrintFileWriter* const writer = [] {
      auto* const made = new PrintFileWriter;
      std::atexit([] { instance().end_at_exit(); });
      return made;
    }();
    return *writer;
  }

  /// False if the values are to go to the screen.
  bool write(std::span<const TextOrTensor> values) {
    const std::lock_guard lock(mutex_);
    const std::string& path = get_context().print_file_path;
    if (has_ended_) return false;
    if (path != path_) open(path);
    if (!file_.valid()) return false;
    if (process_ != ::getpid()) return give_up("it belongs to the parent process");
    struct stat status;
    if (::fstat(file_.get(), &status) != 0 || status.st_nlink == 0) return give_up("it was removed");
    std::string message;
    try {
      message = io::print_message(values);
    } catch (const std::bad_alloc&) {
      return give_up("there is no memory for what is printed");
    }
    if (append(message)) return true;
    const int reason = errno;
    return ::ftruncate(file_.get(), good_bytes_) == 0 ? give_up(std::strerror(reason))
                                                      : give_up("it could not be written, and ends in a part of one");
  }
  /// Ends the file; the next print to its path finds that it is there.
  void close() {
    const std::lock_guard lock(mutex_);
    end();
    path_.clear();
    left_.clear();
  }

 private:
  PrintFileWriter() = default;
  void end() {
    if (!file_.valid()) return;
    if (process_ == ::getpid()) ::fchmod(file_.get(), 0400);
    file_ = io::FileHandle(-1);
  }
  /// What is printed later goes to the screen.
  void end_at_exit() {
    const std::lock_guard lock(mutex_);
    end();
    has_ended_ = true;
  }
  void open(const std::string& path) {
    leave();
    path_ = path;
    process_ = ::getpid();
    const auto left = std::find_if(left_.begin(), left_.end(),
                                   [&](const Left& one) { return one.path == path && one.process == process_; });
    if (left != left_.end()) return open_again(*left);
    good_bytes_ = 0;
    file_ = io::FileHandle(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!file_.valid()) give_up(std::strerror(errno));
  }
  // A file that was ended because prints went to another path. It is closed: a program that sets a path for each epoch
  // would run out of descriptors.
  struct Left {
    std::string path;
    ::dev_t device;
    ::ino_t number;
    long bytes;
    pid_t process;
    bool is(const struct stat& file) const {
      return file.st_dev == device && file.st_ino == number && file.st_size == bytes;
    }
  };
  // Ends the file, which may come back.
  void leave() {
    struct stat status;
    if (file_.valid() && ::fstat(file_.get(), &status) == 0) {
      std::erase_if(left_, [&](const Left& one) { return one.path == path_; });
      left_.push_back({path_, status.st_dev, status.st_ino, good_bytes_, process_});
    }
    end();
  }
  void open_again(const Left& left) {
    struct stat status;
    const io::FileHandle reader(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!reader.valid()) return void(give_up(std::strerror(errno)));
    if (::fstat(reader.get(), &status) != 0 || !left.is(status)) return void(give_up("others have changed it"));
    ::fchmod(reader.get(), 0600);  // before it can be opened to write
    file_ = io::FileHandle(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    good_bytes_ = left.bytes;
    if (!file_.valid()) give_up(std::strerror(errno));
    else if (::fstat(file_.get(), &status) != 0 || !left.is(status)) give_up("others have changed it");
  }
  bool append(std::string_view bytes) {
    const long end = good_bytes_ + long(bytes.size());
    while (!bytes.empty()) {
      const ::ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    good_bytes_ = end;
    return true;
  }
  bool give_up(const std::string& reason) {
    end();
    logging::warning("Cannot print to '", path_, "': ", reason, ". What is printed goes to the screen from here on.");
    return false;
  }

  std::mutex mutex_;
  std::string path_;
  io::FileHandle file_{-1};
  long good_bytes_ = 0;
  pid_t process_ = 0;       // which has opened the file
  std::vector<Left> left_;  // since the last close()
  bool has_ended_ = false;
};

/// Completes the file of print_file_path.
inline void close_print_file() { PrintFileWriter::instance().close(); }

namespace detail {
/// Before main().
struct PrintsToFile : tenon::detail::HasTool {
  PrintsToFile() : HasTool(tenon::detail::Tool::print_file) { ops::print_sink.store(write); }
  static bool write(std::span<const TextOrTensor> values) { return PrintFileWriter::instance().write(values); }
};
inline const PrintsToFile prints_to_file;
}  // namespace detail

}  // namespace tenon::debug
