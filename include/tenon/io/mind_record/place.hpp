// Reads and writes at a place of an open file, from any thread: nobody moves a position.
#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <unistd.h>

#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::io::detail {

/// Writes all bytes at a place of a file. `path` is for messages.
inline void write_at(const FileHandle& file, std::string_view bytes, std::uint64_t place, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file.get(), bytes.data(), bytes.size(), off_t(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("write", path);
    bytes.remove_prefix(std::size_t(count));
    place += std::uint64_t(count);
  }
}

/// Reads so many bytes from a place of a file. False if it ends before.
inline bool read_at(const FileHandle& file, char* to, std::size_t count, std::uint64_t place, const std::string& path) {
  while (count) {
    const ssize_t got = ::pread(file.get(), to, count, off_t(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error("read", path);
    if (got == 0) return false;
    to += got, place += std::uint64_t(got), count -= std::size_t(got);
  }
  return true;
}

}  // namespace tenon::io::detail
