// A file whose lock says that a process is using a name.
#pragma once
#include <string>

#include <tenon/core/config.hpp>
#include <tenon/io/file.hpp>
#if TENON_DEFINES
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>
#include <cerrno>
#endif

namespace tenon::inline TENON_ABI::io {

/// An empty file that its owner has locked, and removes. A process that is killed loses the lock, so that the next one
/// takes the file over. Where the file system has no locks, a file that is there counts as owned and is never taken
/// over.
class LockFile {
 public:
  /// Tries to become the owner; owned() says whether it worked. Throws RuntimeError if there can be no such file.
  [[gnu::cold]] explicit LockFile(const std::string& path);
  LockFile(const LockFile&) = delete;
  [[gnu::cold]] ~LockFile();

  bool owned() const { return file_.valid(); }
  /// False in a child that fork() has made: its parent is the owner.
  [[gnu::cold]] bool of_this_process() const;
  /// Removes the file of a process that was killed. False if an owner may be alive.
  [[gnu::cold]] static bool remove_abandoned(const std::string& path);

 private:
  std::string path_;
  FileHandle file_{-1};
  long process_ = 0;
};

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR LockFile::LockFile(const std::string& path) : path_(path), process_(::getpid()) {
  check_path(path);
  for (;;) {
    FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const bool made = file.valid();
    if (!made && errno != EEXIST) throw_system_error("create the lock file", path);
    if (!made) file = detail::open_to_lock(path);
    if (!file.valid() && errno == ENOENT) continue;
    if (!file.valid()) return;
    const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EINTR) continue;
    if (!locked && (!made || errno == EWOULDBLOCK)) return;
    if (!detail::is_at(file, path)) continue;  // its owner has removed it meanwhile
    file_ = std::move(file);
    return;
  }
}
TENON_INLINE_CONSTRUCTOR LockFile::~LockFile() {
  // before the lock goes: the next owner then sees that the file has lost its name
  if (owned() && of_this_process() && detail::is_at(file_, path_)) ::unlink(path_.c_str());
}
TENON_INLINE bool LockFile::of_this_process() const { return process_ == ::getpid(); }
TENON_INLINE bool LockFile::remove_abandoned(const std::string& path) {
  const FileHandle file = detail::open_to_lock(path);
  if (!file.valid()) return errno == ENOENT;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (detail::is_at(file, path)) ::unlink(path.c_str());
  return true;
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
