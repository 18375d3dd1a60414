// What tells a file from others, and from itself after a change.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/stat.h>

#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::io {

/// A file as it was at one moment. The path is the one from the root on, without links, and no number of a disk:
/// so machines that share a folder, or have equal copies in the same place, agree.
struct FileVersion {
  std::string path;
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;  // bytes, and when it was changed last
};

namespace detail {
inline FileVersion version_from(const std::string& path, const struct stat& status) {
  char* const real = ::realpath(path.c_str(), nullptr);
  FileVersion version{real ? real : path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  std::free(real);  // a pipe has none, nor has a file that is removed already
  return version;
}
}  // namespace detail

/// Of an open file, which was opened by this path just now. Throws RuntimeError if the system does not say.
[[gnu::cold]] inline FileVersion version_of(const FileHandle& file, const std::string& path) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) throw_system_error("look at", path);
  return detail::version_from(path, status);
}
/// Of the file that is there now. Throws RuntimeError if there is none.
[[gnu::cold]] inline FileVersion version_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_system_error("look at", path);
  return detail::version_from(path, status);
}

}  // namespace tenon::io
