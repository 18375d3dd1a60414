// Reads and writes at a place of an open file, from any thread: no position moves.
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
    const ssize_t count = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
}

/// Reads this many bytes from a place of a file. Returns how many there are: fewer if it ends before.
inline std::size_t read_part(const FileHandle& file, char* to, std::size_t count, std::uint64_t place,
                             const std::string& path) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(file.get(), to + done, count - done, static_cast<off_t>(place + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error("read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}
/// The same; false if it ends before.
inline bool read_at(const FileHandle& file, char* to, std::size_t count, std::uint64_t place, const std::string& path) {
  return read_part(file, to, count, place, path) == count;
}

}  // namespace tenon::io::detail
