// The error for a file that does not fit into memory.
#pragma once
#include <cstdint>
#include <string>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/core/error.hpp>
#include <tenon/core/memory/memory_limit.hpp>

#include <sys/stat.h>
#endif

namespace tenon::inline TENON_ABI::io {

/// What memory for a file is asked for, in an OutOfMemory.
[[gnu::cold]] std::string content_of(const std::string& path);

/// Throws OutOfMemory that names the file. Readers and writers call it when they catch a std::bad_alloc.
///
/// bytes       how many were asked for, as far as is known; 0: as many as the file has on disk
[[noreturn, gnu::cold]] void refuse_file(std::uint64_t bytes, const std::string& path);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::string content_of(const std::string& path) {
  return text("the content of '", path, "'");
}
[[gnu::noinline]] TENON_INLINE void refuse_file(std::uint64_t bytes, const std::string& path) {
  struct stat status;
  if (bytes == 0 && ::stat(path.c_str(), &status) == 0) bytes = static_cast<std::uint64_t>(status.st_size);
  tenon::detail::refuse_memory(double(bytes), content_of(path));
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
