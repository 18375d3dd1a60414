// Reads a whole file into memory, and writes a whole file or none of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/math/min_max.hpp>
#if TENON_DEFINES
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>

#include <tenon/core/thread/atomic.hpp>
#include <tenon/io/path/refuse_file.hpp>
#endif

namespace tenon::inline TENON_ABI::io {

/// The size above which read_file refuses, where the caller knows no better: 4 GiB.
inline constexpr std::uint64_t default_file_limit = std::uint64_t{4} << 30;

/// An open file descriptor that closes itself.
class FileHandle {
 public:
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileHandle();

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// "Cannot <act> '<path>': <text of errno>." as an exception. Call it before anything else can change errno.
[[noreturn, gnu::cold]] void throw_system_error(std::string_view act, const std::string& path,
                                                std::string_view hint = "");

/// Throws ValueError if a path cannot be handed to the system: it is empty or has a zero byte inside.
[[gnu::cold]] void check_path(const std::string& path);

/// True if the path names something that exists and is not a directory.
bool file_exists(const std::string& path);

bool directory_exists(const std::string& path);

/// Makes a directory and those above it, as far as they are missing, with this mode less the umask. False if there is
/// none at its return; errno has the reason.
[[gnu::cold]] bool make_directories(const std::string& path, unsigned mode = 0777);

/// The path and a name below it, with one slash between.
std::string join_path(const std::string& directory, std::string_view name);

/// The directory part of a path: "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string directory_of(const std::string& path);

/// Opens a regular file or a stream for reading. Throws RuntimeError if it is absent, a directory, or not permitted.
[[gnu::cold]] FileHandle open_to_read(const std::string& path);

/// The size of a regular file in bytes; 0 for a stream, whose size is unknown before its end.
[[gnu::cold]] std::uint64_t size_of_file(const FileHandle& file, const std::string& path);

[[noreturn, gnu::cold]] void throw_file_too_large(const std::string& path, std::string_view found, std::uint64_t limit);

/// The whole content of a file or of a stream such as a pipe.
///
/// limit       most bytes accepted; a larger regular file is refused before memory is taken for it
/// throws      RuntimeError if the file is absent, a directory, larger than limit, or cannot be read; OutOfMemory
std::string read_file(const std::string& path, std::uint64_t limit = default_file_limit);

/// Writes the parts one after the other as one file, which appears complete or not at all: they go to a new file in the
/// same directory that is synced and then renamed over the path. Whatever fails, the old file stays and no other is
/// left. A path that is a symbolic link becomes a file; what the link pointed to stays as it was. Only a process that
/// is killed leaves its unfinished file, ".tenon-" and its number; the next one to write in the directory removes it.
///
/// throws      RuntimeError with the path and the system's reason (no such directory, no space, not permitted), and for
///             a device, a pipe, or a socket: the file would take its place, also that of /dev/null
void write_file(const std::string& path, std::span<const std::span<const std::byte>> parts);

/// Throws what write_file would throw for a path where no file can appear. For a program that works long before it
/// writes.
void check_writable(const std::string& path);

/// Writes one text as a file, in the same all-or-nothing way.
void write_file(const std::string& path, std::string_view content);

namespace detail {
/// Whether the path is this file still, not one that has replaced it since, nor a link to it.
[[gnu::cold]] bool is_at(const FileHandle& file, const std::string& path);
/// The same where links are followed: whether opening the path gives this file.
[[gnu::cold]] bool leads_to(const FileHandle& file, const std::string& path);
/// Locks a new file, which shows others that somebody writes. False if one of them was faster and has removed it.
[[gnu::cold]] bool is_locked(const FileHandle& file);
/// Opens a file in order to lock it. No link is followed, no pipe waited for; errno says why the handle is not valid.
[[gnu::cold]] FileHandle open_to_lock(const std::string& path);
/// Makes the new name itself survive a power loss. Some file systems refuse to sync a directory: nothing to do then.
[[gnu::cold]] void sync_directory(const std::string& directory);
/// Removes what processes that were killed while they wrote have left in a directory: files as large as what they
/// saved. A file stays if a process of its number lives, also another user's, and if any process holds its lock: the
/// number says nothing of a process on another machine or in another container that shares the directory.
[[gnu::cold]] void remove_abandoned_files(const std::string& directory);

/// A new file in the directory of the final one, that vanishes unless it is renamed into place.
class TemporaryFile {
 public:
  [[gnu::cold]] explicit TemporaryFile(const std::string& final_path);
  TemporaryFile(const TemporaryFile&) = delete;
  [[gnu::cold]] ~TemporaryFile();

  [[gnu::cold]] void write(std::span<const std::byte> part);
  [[gnu::cold]] void move_into_place() { move_to(final_path_); }
  /// Under another name than the final one, but with the mode that a file of that name has.
  [[gnu::cold]] void move_to(const std::string& path);
  /// Under a name that nothing has, not even a link that leads nowhere; false if something has it.
  [[gnu::cold]] bool move_to_free(const std::string& path);
  /// Where it is so far, and for writing elsewhere than at its end.
  const std::string& path() const { return path_; }
  const FileHandle& handle() const { return file_; }

 private:
  [[gnu::cold]] FileHandle create();
  [[gnu::cold]] void keep_mode_of_old_file();

  std::string final_path_, path_;
  FileHandle file_;
  bool renamed_ = false;
};
}  // namespace detail

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

TENON_INLINE void throw_system_error(std::string_view act, const std::string& path, std::string_view hint) {
  const int reason = errno;
  throw_error<RuntimeError>("Cannot ", act, " '", path, "': ", std::strerror(reason), ".", hint);
}
TENON_INLINE void check_path(const std::string& path) {
  if (path.empty()) throw_error<ValueError>("The path of a file is empty; pass the file's name.");
  if (path.find('\0') != std::string::npos)
    throw_error<ValueError>("The path '", path.c_str(), "' goes on after a zero byte; no file can have that name.");
}
TENON_INLINE bool file_exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}
TENON_INLINE bool directory_exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}
[[gnu::cold]] TENON_INLINE bool make_directories(const std::string& path, unsigned mode) {
  int reason = 0;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const int result = ::mkdir(path.substr(0, end).c_str(), static_cast<mode_t>(mode));
    if (result != 0 && errno != EEXIST && reason == 0) reason = errno;  // that of a file is ENOTDIR
  }
  if (directory_exists(path)) return true;
  errno = reason ? reason : ENOTDIR;
  return false;
}
TENON_INLINE std::string join_path(const std::string& directory, std::string_view name) {
  return text(directory, directory.empty() || directory.back() == '/' ? "" : "/", name);
}
TENON_INLINE std::string directory_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}
[[gnu::cold]] TENON_INLINE FileHandle open_to_read(const std::string& path) {
  check_path(path);
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw_system_error("open", path);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) throw_system_error("open", path);
  if (S_ISDIR(status.st_mode))
    throw_error<RuntimeError>("Cannot read '", path, "': it is a directory; pass the path of a file.");
  return file;
}
TENON_INLINE std::uint64_t size_of_file(const FileHandle& file, const std::string& path) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) throw_system_error("read the size of", path);
  return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}
TENON_INLINE void throw_file_too_large(const std::string& path, std::string_view found, std::uint64_t limit) {
  throw_error<RuntimeError>("Cannot read '", path, "': it has ", found, " bytes, at most ", limit,
                            " are allowed here; is it the right file?");
}
namespace detail {
/// `wanted`: how many bytes memory is asked for.
[[gnu::cold]] inline std::string read_whole(const std::string& path, std::uint64_t limit, std::uint64_t& wanted) {
  const FileHandle file = open_to_read(path);
  const std::uint64_t size = wanted = size_of_file(file, path);
  if (size > limit) throw_file_too_large(path, text(size), limit);
  constexpr std::size_t smallest_chunk = 1 << 16;
  // one more than announced: the end shows in the first round
  std::string content(static_cast<std::size_t>(size) + 1, '\0');
  std::size_t filled = 0;
  for (;;) {
    if (filled == content.size()) {
      wanted = content.size() + math::max(smallest_chunk, content.size() / 2);
      content.resize(wanted);
    }
    const ssize_t count = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
    if (filled > limit) throw_file_too_large(path, text("more than ", limit), limit);
  }
  content.resize(filled);
  return content;
}
}  // namespace detail
[[gnu::cold]] TENON_INLINE std::string read_file(const std::string& path, std::uint64_t limit) {
  std::uint64_t size = 0;
  try {
    return detail::read_whole(path, limit, size);
  } catch (const std::bad_alloc&) {
    refuse_file(size, path);
  }
}

namespace detail {

/// The process in the name of a file that TemporaryFile makes, 0 for any other name.
[[gnu::cold]] inline long writer_of(std::string_view name) {
  constexpr std::string_view before = ".tenon-", behind = ".tmp";
  if (name.size() <= before.size() + behind.size() || name.substr(0, before.size()) != before ||
      name.substr(name.size() - behind.size()) != behind)
    return 0;
  const char *const first = name.data() + before.size(), *const last = name.data() + name.size() - behind.size();
  long process = 0;
  unsigned count = 0;
  const auto dash = std::from_chars(first, last, process).ptr;
  if (dash == last || *dash != '-' || std::from_chars(dash + 1, last, count).ptr != last) return 0;
  return process;
}
/// Some file systems lock only what may be written; a file may have the mode of one that may not.
TENON_INLINE FileHandle open_to_lock(const std::string& path) {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int file = ::open(path.c_str(), O_RDWR | flags);
  const bool read_only = file < 0 && (errno == EACCES || errno == EPERM || errno == EROFS);
  return FileHandle(read_only ? ::open(path.c_str(), O_RDONLY | flags) : file);
}
[[gnu::cold]] inline bool is_same(const FileHandle& file, const struct stat& there) {
  struct stat mine;
  return ::fstat(file.get(), &mine) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}
TENON_INLINE bool is_at(const FileHandle& file, const std::string& path) {
  struct stat there;
  return ::lstat(path.c_str(), &there) == 0 && is_same(file, there);
}
TENON_INLINE bool leads_to(const FileHandle& file, const std::string& path) {
  struct stat there;
  return ::stat(path.c_str(), &there) == 0 && is_same(file, there);
}
TENON_INLINE void remove_abandoned_files(const std::string& directory) {
  DIR* const listing = ::opendir(directory.c_str());
  if (!listing) return;
  while (const dirent* entry = ::readdir(listing)) {
    const long process = writer_of(entry->d_name);
    // this process's number may have been that of a killed one, as in each new container: only the lock tells
    if (process != ::getpid() && (process <= 0 || ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH))
      continue;
    const std::string path = join_path(directory, entry->d_name);
    const FileHandle file = open_to_lock(path);
    if (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_at(file, path)) ::unlink(path.c_str());
  }
  ::closedir(listing);
}

TENON_INLINE_CONSTRUCTOR TemporaryFile::TemporaryFile(const std::string& final_path)
    : final_path_(final_path), file_(create()) {}
TENON_INLINE_CONSTRUCTOR TemporaryFile::~TemporaryFile() {
  if (!renamed_) ::unlink(path_.c_str());
}
TENON_INLINE void TemporaryFile::write(std::span<const std::byte> part) {
  while (!part.empty()) {
    const ssize_t count = ::write(file_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("write", final_path_, " The file that was there before, if any, is unchanged.");
    part = part.subspan(static_cast<std::size_t>(count));
  }
}
TENON_INLINE void TemporaryFile::move_to(const std::string& path) {
  keep_mode_of_old_file();
  if (::fsync(file_.get()) != 0) throw_system_error("write", final_path_);
  // open, and so locked, until it has its name: else another one could take it for abandoned
  if (::rename(path_.c_str(), path.c_str()) != 0) throw_system_error("rename the finished file to", path);
  renamed_ = true;
}
TENON_INLINE bool TemporaryFile::move_to_free(const std::string& path) {
  if (::fsync(file_.get()) != 0) throw_system_error("write", final_path_);
  if (::link(path_.c_str(), path.c_str()) == 0) {
    renamed_ = ::unlink(path_.c_str()) == 0;
    return true;
  }
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) throw_system_error("write", path);
  // a file system without second names
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return renamed_ = true;
  if (errno == EEXIST) return false;
#endif
  struct stat there;  // nor with a way to do this in one step: of two at the same time one's file is lost
  if (::lstat(path.c_str(), &there) == 0) return false;
  if (::rename(path_.c_str(), path.c_str()) != 0) throw_system_error("rename the finished file to", path);
  return renamed_ = true;
}
TENON_INLINE bool is_locked(const FileHandle& file) {
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return true;  // a file system without locks: nothing is removed there
  struct stat status;
  return ::fstat(file.get(), &status) != 0 || status.st_nlink > 0;
}
/// Whether a device, a pipe, or a socket is there, or what leads to one. In /dev all are, also a link such as
/// /dev/stdout, wherever it leads today.
[[gnu::cold]] inline bool is_special(const std::string& path) {
  struct stat status;
  return directory_of(path) == "/dev" || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}
/// The name is short and free of the final one, which may already be as long as a name can be. O_EXCL makes sure that
/// two writers, also on two machines that share the directory, never get the same file; the umask sets its mode.
TENON_INLINE FileHandle TemporaryFile::create() {
  check_path(final_path_);
  if (directory_exists(final_path_))
    throw_error<RuntimeError>("Cannot write '", final_path_, "': it is a directory; pass the path of a file.");
  if (is_special(final_path_))
    throw_error<RuntimeError>("Cannot write '", final_path_, "': it is a device, a pipe, or a socket, and a file that ",
                              "appears as a whole would take its place; pass the path of a file.");
  static tenon::detail::Atomic<unsigned> counter{0};
  for (;;) {
    path_ = join_path(directory_of(final_path_), text(".tenon-", ::getpid(), "-", counter.fetch_add(1), ".tmp"));
    FileHandle file(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.valid() && is_locked(file)) return file;
    if (!file.valid() && errno != EEXIST)
      throw_system_error("create a file beside", final_path_, " The directory must exist and be writable.");
  }
}
TENON_INLINE void TemporaryFile::keep_mode_of_old_file() {
  struct stat old;
  if (::stat(final_path_.c_str(), &old) != 0) return;
  // a file system without modes is no reason to lose data
  [[maybe_unused]] const int ignored = ::fchmod(file_.get(), old.st_mode & 0777);
}

TENON_INLINE void sync_directory(const std::string& directory) {
  const FileHandle handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.valid()) ::fsync(handle.get());
}

}  // namespace detail

TENON_INLINE void write_file(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  detail::TemporaryFile file(path);
  detail::remove_abandoned_files(directory_of(path));
  for (std::span<const std::byte> part : parts) file.write(part);
  file.move_into_place();
  detail::sync_directory(directory_of(path));
}
[[gnu::noinline]] TENON_INLINE void check_writable(const std::string& path) { const detail::TemporaryFile probe(path); }
TENON_INLINE void write_file(const std::string& path, std::string_view content) {
  const std::span<const std::byte> part(reinterpret_cast<const std::byte*>(content.data()), content.size());
  write_file(path, std::span<const std::span<const std::byte>>(&part, 1));
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
