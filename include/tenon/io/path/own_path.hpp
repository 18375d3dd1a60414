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
/// file can be made it is the path itself: the writer reports why it cannot write there. Two spellings of a path, such
/// as `w` and `./w`, are one, and what is returned is spelt as the path given.
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
  /// place(path): the same for each spelling; spelt(n): the n-th path; locked(path): null if another process has it.
  template <class Place, class Spell, class Lock>
  [[gnu::cold]] std::string get(const std::string& asked, Place place, Spell spelt, Lock locked) {
    const std::lock_guard guard(mutex_);
    const std::string here = place(asked);
    for (const Owned& one : owned_) {
      if (one.own == here) return asked;
      if (one.asked == here) return spelt(one.number);
    }
    constexpr int most = 10000;
    for (int n = 0; n < most; ++n) {
      const std::string path = spelt(n);
      std::shared_ptr<const void> lock = locked(path);
      if (!lock) continue;
      if (n > 0)
        logging::warning("Another program that is running writes '", asked, "': this one writes '", path, "'.");
      owned_.push_back({here, place(path), n, std::move(lock)});
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
    std::string asked, own;  // places
    int number;
    std::shared_ptr<const void> lock;
  };
  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::vector<Owned> owned_;
};
/// A folder without links and dots, from the root on; the path itself if there is no such folder.
[[gnu::cold]] inline std::string place_of_folder(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  const std::string place = real ? real : path;
  std::free(real);
  return place;
}
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
  const auto place = [&](const std::string& file) {
    return join_path(detail::place_of_folder(directory_of(file)), file.substr(begin));
  };
  const auto spelt = [&](int n) { return text(path.substr(0, end), n == 0 ? "" : text("_", n), path.substr(end)); };
  return detail::OwnedPaths::of_this_process().get(path, place, spelt, [&](const std::string& file) {
    auto lock = std::make_shared<const LockFile>(text(file.substr(0, begin), ".", file.substr(begin), ".lock"));
    return std::shared_ptr<const void>(lock->owned() ? std::move(lock) : nullptr);
  });
} catch (const Error&) {
  return path;
}
[[gnu::noinline]] TENON_INLINE std::string own_folder(const std::string& folder, unsigned mode) try {
  const auto spelt = [&](int n) { return n == 0 ? folder : join_path(folder, text("run_", n)); };
  make_directories(folder, mode);
  return detail::OwnedPaths::of_this_process().get(folder, detail::place_of_folder, spelt,
                                                   [&](const std::string& path) {
                                                     make_directories(path, mode);
                                                     return detail::locked_folder(path);
                                                   });
} catch (const Error&) {
  return folder;
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
