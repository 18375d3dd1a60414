// The location of caches on this machine: a folder of this user, with a folder for each session.
//
//   <folder>/port_50052/session_1456416665/    data.mdb, lock.mdb, boot, opening
//
// A session is a folder: one mkdir creates it, one rename drops it. A killed process therefore leaves no intermediate
// state, and nothing outside of the folder: no shared memory, no socket, no file per process.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// $TENON_CACHE_FOLDER, else tenon/dataset_cache below $XDG_CACHE_HOME or ~/.cache, else /tmp/tenon-cache-<user>.
inline std::string default_cache_folder() {
  const auto variable = [](const char* name) -> std::string_view {
    const char* const value = std::getenv(name);
    return value ? value : "";
  };
  if (!variable("TENON_CACHE_FOLDER").empty()) return std::string(variable("TENON_CACHE_FOLDER"));
  constexpr std::string_view ours = "tenon/dataset_cache";
  if (variable("XDG_CACHE_HOME").starts_with('/')) return io::join_path(std::string(variable("XDG_CACHE_HOME")), ours);
  if (variable("HOME").starts_with('/'))
    return io::join_path(io::join_path(std::string(variable("HOME")), ".cache"), ours);
  return text("/tmp/tenon-cache-", ::geteuid());
}

namespace detail {

/// Throws unless the folder belongs to this user and no other user may write in it: others could plant rows.
inline void check_owner(const std::string& folder) {
  struct stat status;
  if (::lstat(folder.c_str(), &status) != 0) io::throw_system_error("look at", folder);
  if (!S_ISDIR(status.st_mode))
    throw_error<RuntimeError>("The cache folder '", folder, "' is no directory. Pass another folder.");
  if (status.st_uid != ::geteuid())
    throw_error<RuntimeError>("The cache folder '", folder, "' belongs to user ", status.st_uid,
                              ", this program runs as ", "user ", ::geteuid(),
                              ". Caches are not shared between users: pass a folder of your own.");
  if (status.st_mode & 022)
    throw_error<RuntimeError>("Other users may write in the cache folder '", folder,
                              "', and could plant rows there. Forbid it: chmod 700 '", folder, "'.");
}
/// Makes the folder and those above it, for this user alone.
inline void make_folders(const std::string& folder) {
  io::check_path(folder);
  if (!io::make_directories(folder, 0700)) io::throw_system_error("make the cache folder", folder);
  check_owner(folder);
}
/// What is in a folder, without "." and "..". Nothing if it cannot be read.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const listing = ::opendir(folder.c_str());
  if (!listing) return names;
  while (const dirent* entry = ::readdir(listing))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  ::closedir(listing);
  return names;
}
/// Removes a session's folder, which has files only.
inline void remove_flat_folder(const std::string& folder) {
  for (const std::string& name : names_in(folder)) ::unlink(io::join_path(folder, name).c_str());
  ::rmdir(folder.c_str());
}

}  // namespace detail

/// The sessions of one port; in MindSpore these are the sessions of a cache server. Tenon has no server: all programs
/// that open the same folder see the same sessions.
class CacheFolder {
 public:
  static constexpr int default_port = 50052;
  static constexpr std::string_view session_prefix = "session_", dropped_prefix = "dropped_";

  /// folder   "": default_cache_folder()
  explicit CacheFolder(const std::string& folder = "", int port = default_port)
      : root_(folder.empty() ? default_cache_folder() : folder), folder_(io::join_path(root_, text("port_", port))) {}

  const std::string& path() const { return folder_; }
  std::string session_path(std::uint32_t id) const { return io::join_path(folder_, text(session_prefix, id)); }
  bool has_session(std::uint32_t id) const { return io::directory_exists(session_path(id)); }

  /// A new session with an unused number. Throws RuntimeError if the folder cannot be created, or belongs to another
  /// user.
  std::uint32_t create_session() const {
    for (;;) {
      std::uint32_t id = 0;
      if (::getentropy(&id, sizeof id) != 0) io::throw_system_error("draw a number for a session in", folder_);
      if (id == 0) continue;
      detail::make_folders(root_);
      detail::make_folders(folder_);
      sweep();
      if (::mkdir(session_path(id).c_str(), 0700) == 0) return id;
      // taken, or another process has just removed the empty folders
      if (errno != EEXIST && errno != ENOENT) io::throw_system_error("make the session", session_path(id));
    }
  }
  /// The numbers of all sessions, in order.
  std::vector<std::uint32_t> sessions() const {
    std::vector<std::uint32_t> ids;
    sweep();
    for (const std::string& name : detail::names_in(folder_)) {
      if (!name.starts_with(session_prefix)) continue;
      std::uint32_t id = 0;
      const char *const first = name.data() + session_prefix.size(), *const last = name.data() + name.size();
      if (std::from_chars(first, last, id).ptr == last && id != 0) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  /// Removes a session and its rows; false if there is none. A program that has the session open continues: it can
  /// still read its rows, but rows that it adds are lost when it ends.
  bool drop_session(std::uint32_t id) const {
    const bool dropped = io::directory_exists(folder_) && rename_away(id);
    sweep();
    remove_if_empty();
    return dropped;
  }
  /// Removes all sessions; returns how many there were.
  long drop_all() const {
    long count = 0;
    for (const std::uint32_t id : sessions()) count += rename_away(id);
    sweep();
    remove_if_empty();
    return count;
  }

 private:
  bool rename_away(std::uint32_t id) const {
    detail::check_owner(folder_);
    const std::string to = io::join_path(folder_, text(dropped_prefix, id));
    while (::rename(session_path(id).c_str(), to.c_str()) != 0) {
      if (errno == ENOENT) return false;
      // a session of this number was dropped before, by a process that was killed
      if (errno != EEXIST && errno != ENOTEMPTY) io::throw_system_error("drop the session", session_path(id));
      detail::remove_flat_folder(to);
    }
    return true;
  }
  /// Removes the remains of processes that were killed while they dropped a session.
  void sweep() const {
    for (const std::string& name : detail::names_in(folder_))
      if (name.starts_with(dropped_prefix)) detail::remove_flat_folder(io::join_path(folder_, name));
  }
  void remove_if_empty() const { ::rmdir(folder_.c_str()); }

  std::string root_, folder_;
};

}  // namespace tenon::dataset
