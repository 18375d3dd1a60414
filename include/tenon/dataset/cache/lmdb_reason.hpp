// lmdb_reason: the reason for an error of LMDB.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>

#include <lmdb.h>
#include <sys/statvfs.h>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Whether a disk has less left than others are to have: a twentieth of it, at most 1 GiB.
[[gnu::cold]] inline bool is_nearly_full(const std::string& folder) {
  struct statvfs disk;
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  const std::uint64_t block = disk.f_frsize, total = disk.f_blocks * block;
  return disk.f_bavail * block < std::min(total / 20, std::uint64_t{1} << 30);
}
/// The words for an error of LMDB in a folder. It says EIO where a page was written in part, which is what a full disk
/// does.
[[gnu::cold]] inline std::string lmdb_reason(int error, const std::string& folder) {
  const bool is_full = error == ENOSPC || error == MDB_MAP_FULL || (error == EIO && is_nearly_full(folder));
  return is_full ? "the disk is full (No space left on device)" : ::mdb_strerror(error);
}

}  // namespace tenon::dataset::detail
