// DumpWriter: the files of a dump, written at once or by a thread of its own.
#pragma once
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/log.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
/// A name that vanishes unless it is given away.
class Unlinked {
 public:
  explicit Unlinked(const std::string& path) : path_(path) {}
  ~Unlinked() {
    if (!kept) ::unlink(path_.c_str());
  }
  Unlinked(const Unlinked&) = delete;
  Unlinked& operator=(const Unlinked&) = delete;
  bool kept = false;

 private:
  const std::string& path_;
};
[[gnu::cold]] inline void write_part(const io::FileHandle& file, std::span<const std::byte> part,
                                     const std::string& path) {
  while (!part.empty()) {
    const ::ssize_t count = ::write(file.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) io::throw_system_error("write", path);
    part = part.subspan(std::size_t(count));
  }
}
/// A file of mode 0400 that is there as a whole or not at all. Unlike io::write_file it does not wait for the disk: a
/// dump has thousands of files, and one that a loss of power takes is made again by a run.
[[gnu::cold]] inline void write_dump_file(const std::string& path, std::string_view head,
                                          std::span<const std::byte> body) {
  static std::atomic<unsigned> counter{0};
  const std::string unfinished =
      io::join_path(io::directory_of(path), text(".tenon-", ::getpid(), "-", counter++, ".tmp"));
  const io::FileHandle file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) io::throw_system_error("write", path);
  Unlinked name(unfinished);
  write_part(file, std::as_bytes(std::span(head)), path);
  write_part(file, body, path);
  // a file system without modes is no reason to lose data
  [[maybe_unused]] const int ignored = ::fchmod(file.get(), 0400);
  if (::rename(unfinished.c_str(), path.c_str()) != 0) io::throw_system_error("write", path);
  name.kept = true;
}
[[gnu::cold]] inline void make_dump_folder(const std::string& path) {
  int reason = 0;
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    if (::mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST && reason == 0) reason = errno;
  }
  if (io::directory_exists(path)) return;
  errno = reason ? reason : ENOTDIR;
  io::throw_system_error("make the folder", path);
}
}  // namespace detail

/// Writes files of mode 0400, each of them wholly or not at all. The first one that cannot be written (a full disk, a
/// folder that is gone) ends it with one warning, and the program goes on without it. Several threads may write.
///
/// async       a thread of its own writes, in the order of the calls; then at most `most_queued` bytes wait, or one
///             file that is larger, and who comes with more waits until there is room: nothing is lost
class DumpWriter {
 public:
  static constexpr std::size_t default_most_queued = std::size_t{64} << 20;

  explicit DumpWriter(bool async, std::size_t most_queued = default_most_queued)
      : async_(async), most_queued_(most_queued), process_(::getpid()) {}
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;
  /// Waits until everything is written.
  ~DumpWriter();

  /// Makes a folder and those above it.
  void make_folder(const std::string& path) {
    if (!failed()) attempt([&] { detail::make_dump_folder(path); });
  }
  /// A file of two parts, one after the other. `body` is copied where a thread writes.
  void write(std::string path, std::string head, std::span<const std::byte> body = {});
  /// Waits until everything is written.
  void finish();
  /// True from the first error on; then nothing is written any more.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  struct File {
    std::string path, head;
    std::vector<std::byte> body;
    std::size_t bytes() const { return path.size() + head.size() + body.size() + sizeof *this; }
  };
  template <class Act>
  [[gnu::cold]] void attempt(Act act) {
    try {
      act();
    } catch (const std::exception& e) {
      if (failed_.exchange(true)) return;
      logging::warning("The dump ends here, the program goes on without it: ", e.what());
    }
  }
  /// A child of the process that this writer is of has its own copy of it, but not its thread.
  bool in_thread() const { return async_ && process_ == ::getpid(); }
  void queue(File&& file);
  void work();

  const bool async_;
  const std::size_t most_queued_;
  const ::pid_t process_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<File> queue_;
  std::size_t queued_ = 0;
  bool writing_ = false, ending_ = false;
  std::thread thread_;
};

inline DumpWriter::~DumpWriter() {
  if (!thread_.joinable()) return;
  if (process_ == ::getpid()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  } else thread_.detach();
}
inline void DumpWriter::write(std::string path, std::string head, std::span<const std::byte> body) {
  if (failed()) return;
  attempt([&] {
    if (!in_thread()) return detail::write_dump_file(path, head, body);
    queue({std::move(path), std::move(head), {body.begin(), body.end()}});
  });
}
inline void DumpWriter::queue(File&& file) {
  const std::size_t bytes = file.bytes();
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.wait(lock, [&] { return queue_.empty() || queued_ + bytes <= most_queued_ || failed(); });
  queued_ += bytes;
  queue_.push_back(std::move(file));
  changed_.notify_all();
}
inline void DumpWriter::finish() {
  if (!in_thread()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !writing_; });
}
inline void DumpWriter::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !queue_.empty() || ending_; });
    if (queue_.empty()) return;
    writing_ = true;
    {
      const File file = std::move(queue_.front());
      lock.unlock();
      if (!failed()) attempt([&] { detail::write_dump_file(file.path, file.head, file.body); });
      lock.lock();
      queued_ -= file.bytes();
    }
    // it counts as waiting until it is written: what is queued is what the memory holds
    queue_.pop_front();
    writing_ = false;
    changed_.notify_all();
  }
}

}  // namespace tenon::debug
