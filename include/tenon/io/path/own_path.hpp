// Paths of files and folders that a process writes alone, also when several programs were told the same one.
#pragma once
#include <string>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <tenon/core/log/log.hpp>
#include <tenon/io/path/lock_file.hpp>
#endif

namespace tenon::inline TENON_ABI::io {

/// Where this process writes a file for which it was given a path: there, or, while another process that is alive does
/// so, at `<name>_1.<suffix>`, and so on, after a warning. It is the owner until it ends: `.<name>.<suffix>.lock`
/// beside the file is locked. A process that is killed loses the lock, and the next one takes it over. Where no lock
/// file can be made it is the path itself: the writer reports why it cannot write there.
[[gnu::cold]] std::string own_file(const std::string& path);

/// The same for files of fixed names in a folder, which is made: the folder, or `run_1` below it, and so on. The folder
/// itself is locked, flock(2).
[[gnu::cold]] std::string own_folder(const std::string& folder, unsigned mode = 0777);

#if TENON_DEFINES
namespace detail {
/// What a process owns. A child of a fork has its own.
class OwnedPaths {
 public:
  static OwnedPaths& of_this_process() {
    static std::atomic<OwnedPaths*> current{nullptr};
    OwnedPaths* found = current.load();
    while (!found || found->process_ != ::getpid()) {
      auto* const fresh = new OwnedPaths;  // as long as the process: statics may write while they are destroyed
      if (current.compare_exchange_strong(found, fresh)) {
        static const int registered = std::atexit([] { of_this_process().give_back(); });
        static_cast<void>(registered);
        return *fresh;
      }
      delete fresh;
    }
    return *found;
  }
  /// choose(n): the n-th path and its lock, which is null if another process has it.
  template <class Choose>
  [[gnu::cold]] std::string get(const std::string& asked, Choose choose) {
    const std::lock_guard guard(mutex_);
    for (const Owned& one : owned_)
      if (one.asked == asked || one.path == asked) return one.path;
    constexpr int most = 10000;
    for (int n = 0; n < most; ++n) {
      auto [path, lock] = choose(n);
      if (!lock) continue;
      if (n > 0)
        logging::warning("Another program that is running writes '", asked, "': this one writes '", path, "'.");
      owned_.push_back({asked, path, std::move(lock)});
      return path;
    }
    return asked;
  }
  void give_back() {
    const std::lock_guard guard(mutex_);
    for (Owned& one : owned_) one.lock.reset();
  }

 private:
  struct Owned {
    std::string asked, path;
    std::shared_ptr<const void> lock;
  };
  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::vector<Owned> owned_;
};
/// A folder that this process has locked, null if another one has. Throws RuntimeError if there is no such folder.
[[gnu::cold]] inline std::shared_ptr<const void> locked_folder(const std::string& path) {
  auto folder = std::make_shared<FileHandle>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder->valid()) throw_system_error("open the folder", path);
  while (::flock(folder->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return nullptr;
    if (errno != EINTR) break;  // a file system that locks no folders
  }
  return folder;
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE std::string own_file(const std::string& path) try {
  const std::size_t slash = path.find_last_of('/'), begin = slash == path.npos ? 0 : slash + 1;
  const std::size_t dot = path.find_last_of('.'), end = dot == path.npos || dot <= begin ? path.size() : dot;
  return detail::OwnedPaths::of_this_process().get(path, [&](int n) {
    const std::string folder = path.substr(0, begin),
                      name = text(path.substr(begin, end - begin), n == 0 ? "" : text("_", n), path.substr(end));
    auto lock = std::make_shared<const LockFile>(text(folder, ".", name, ".lock"));
    if (!lock->owned()) lock = nullptr;
    return std::pair(folder + name, std::shared_ptr<const void>(std::move(lock)));
  });
} catch (const Error&) {
  return path;
}
[[gnu::noinline]] TENON_INLINE std::string own_folder(const std::string& folder, unsigned mode) try {
  return detail::OwnedPaths::of_this_process().get(folder, [&](int n) {
    const std::string path = n == 0 ? folder : join_path(folder, text("run_", n));
    make_directories(path, mode);
    return std::pair(path, detail::locked_folder(path));
  });
} catch (const Error&) {
  return folder;
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
