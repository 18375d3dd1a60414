// DumpQueue: the files of a dump, written immediately or by a separate thread.
#pragma once
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/log/log.hpp>
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
  std::string unfinished;
  io::FileHandle file(-1);
  do {  // again where a killed process of the same number has left a file, and where another one has taken it for that
    unfinished = io::join_path(io::directory_of(path), text(".tenon-", ::getpid(), "-", counter++, ".tmp"));
    file = io::FileHandle(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid() && errno != EEXIST) io::throw_system_error("write", path);
  } while (!file.valid() || !io::detail::is_locked(file));
  Unlinked name(unfinished);
  write_part(file, std::as_bytes(std::span(head)), path);
  write_part(file, body, path);
  // a file system without modes is no reason to lose data
  [[maybe_unused]] const int ignored = ::fchmod(file.get(), 0400);
  if (::rename(unfinished.c_str(), path.c_str()) != 0) io::throw_system_error("write", path);
  name.kept = true;
}
/// Adds a line to such a file, in one call of the system. A user who is not root cannot open a file of mode 0400.
[[gnu::cold]] inline void append_to_dump_file(const std::string& path, std::string_view line) {
  [[maybe_unused]] int ignored = ::chmod(path.c_str(), 0600);
  const io::FileHandle file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.valid()) io::throw_system_error("write", path);
  write_part(file, std::as_bytes(std::span(line)), path);
  ignored = ::fchmod(file.get(), 0400);
}
}  // namespace detail

/// Writes files of mode 0400, each complete or absent. The first file that cannot be written (full disk, missing
/// folder) ends the queue with one warning, and the program continues without it. Several threads may write.
///
/// async       a separate thread writes, in the order of the calls. At most `most_queued` bytes wait, or one larger
///             file; a caller with more data waits until there is room, so nothing is lost. In a forked process files
///             are written immediately
class DumpQueue {
 public:
  static constexpr std::size_t default_most_queued = std::size_t{64} << 20;

  explicit DumpQueue(bool async, std::size_t most_queued = default_most_queued)
      : most_queued_(most_queued), process_(::getpid()), queue_(async ? new Queue : nullptr) {}
  DumpQueue(const DumpQueue&) = delete;
  DumpQueue& operator=(const DumpQueue&) = delete;
  /// Waits until everything is written.
  ~DumpQueue();

  /// Makes a folder and those above it.
  void make_folder(const std::string& path) {
    if (!failed())
      attempt([&] {
        if (!io::make_directories(path, 0700)) io::throw_system_error("make the folder", path);
      });
  }
  /// A file of two parts, one after the other. `body` is copied where a thread writes.
  void write(std::string path, std::string head, std::span<const std::byte> body = {});
  /// Puts a line, which is short, at the end of a file that this queue has written.
  void append(std::string path, std::string line);
  /// Waits until everything is written.
  void finish();
  /// True from the first error on; then nothing is written any more.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  struct File {
    std::string path, head;
    std::vector<std::byte> body;
    bool at_the_end = false;
    std::size_t bytes() const { return path.size() + head.size() + body.size() + sizeof *this; }
    [[gnu::cold]] void write() const {
      if (at_the_end) detail::append_to_dump_file(path, head);
      else detail::write_dump_file(path, head, body);
    }
  };
  /// What the writing thread and the others share. A child of the process has a copy of it, too, but no such thread: it
  /// may not end the condition variable, for that waits for its waiters, and may not free a thread that is not joined.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<File> files;
    std::size_t bytes = 0;
    bool writing = false, ending = false;
    std::thread thread;
    Queue* kept = nullptr;
  };
  /// Those of the parent, which a child keeps to its end.
  static std::atomic<Queue*>& queues_of_parent() {
    static constinit std::atomic<Queue*> first{nullptr};
    return first;
  }
  template <class Act>
  [[gnu::cold]] void attempt(Act act) {
    try {
      act();
    } catch (const std::exception& e) {
      if (failed_.exchange(true)) return;
      logging::warning("The dump ends here, the program goes on without it: ", e.what());
    }
  }
  bool in_thread() const { return queue_ && process_ == ::getpid(); }
  void queue(File&& file);
  void work();

  const std::size_t most_queued_;
  const ::pid_t process_;
  std::atomic<bool> failed_{false};
  Queue* const queue_;  // null if nothing is asynchronous
};

inline DumpQueue::~DumpQueue() {
  if (!queue_) return;
  if (process_ != ::getpid()) {
    queue_->kept = queues_of_parent().load();
    while (!queues_of_parent().compare_exchange_weak(queue_->kept, queue_)) continue;
    return;
  }
  if (queue_->thread.joinable()) {
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->ending = true;
    }
    queue_->changed.notify_all();
    queue_->thread.join();
  }
  delete queue_;
}
inline void DumpQueue::write(std::string path, std::string head, std::span<const std::byte> body) {
  if (failed()) return;
  attempt([&] {
    if (!in_thread()) return detail::write_dump_file(path, head, body);
    queue({std::move(path), std::move(head), {body.begin(), body.end()}});
  });
}
inline void DumpQueue::append(std::string path, std::string line) {
  if (failed()) return;
  attempt([&] {
    if (!in_thread()) return detail::append_to_dump_file(path, line);
    queue({std::move(path), std::move(line), {}, true});
  });
}
inline void DumpQueue::queue(File&& file) {
  Queue& q = *queue_;
  const std::size_t bytes = file.bytes();
  std::unique_lock lock(q.mutex);
  if (!q.thread.joinable()) {
    try {
      q.thread = std::thread([this] { work(); });
    } catch (const std::system_error&) {  // the system makes no more threads: this one writes
      return file.write();
    }
  }
  q.changed.wait(lock, [&] { return q.files.empty() || q.bytes + bytes <= most_queued_ || failed(); });
  q.bytes += bytes;
  q.files.push_back(std::move(file));
  q.changed.notify_all();
}
inline void DumpQueue::finish() {
  if (!in_thread()) return;
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait(lock, [&] { return queue_->files.empty() && !queue_->writing; });
}
inline void DumpQueue::work() {
  Queue& q = *queue_;
  std::unique_lock lock(q.mutex);
  for (;;) {
    q.changed.wait(lock, [&] { return !q.files.empty() || q.ending; });
    if (q.files.empty()) return;
    q.writing = true;
    {
      const File file = std::move(q.files.front());
      lock.unlock();
      if (!failed()) attempt([&] { file.write(); });
      lock.lock();
      q.bytes -= file.bytes();
    }
    // it counts as waiting until it is written: what is queued is what the memory holds
    q.files.pop_front();
    q.writing = false;
    q.changed.notify_all();
  }
}

}  // namespace tenon::debug
