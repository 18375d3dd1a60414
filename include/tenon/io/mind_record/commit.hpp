// How all files of a MindRecord set appear at once, whenever their writer is killed.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>

namespace tenon::inline TENON_ABI::io::detail {

// A set is written under names that nobody reads. When all of it is on the disk, the files are called
// `<name>.unfinished`; a file `<set>.commit` appears that lists them: from here on the set is the new one, and whoever
// finds the list does what it says, also the next program after a kill. First the indexes of an older set go, then the
// files get their names, at last the indexes: a file whose index is missing is not complete, for MindSpore, too.

inline constexpr std::string_view unfinished_suffix = ".unfinished", commit_suffix = ".commit",
                                  commit_title = "MindRecord files to be renamed; removed when that is done\n";

inline std::string commit_path(const std::string& set) { return set + std::string(commit_suffix); }

/// The lines of a list: + or -, and a name in its folder. None of a list that this program did not write.
[[gnu::cold]] inline std::vector<std::string> names_in_commit(const std::string& path) {
  constexpr std::uint64_t most = 1 << 20;
  const std::string list = read_file(path, most);
  std::vector<std::string> names;
  if (!std::string_view(list).starts_with(commit_title)) return names;
  for (std::size_t at = commit_title.size(); at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    const std::string name = list.substr(at, end - at);
    const bool marked = name.size() > 1 && (name[0] == '+' || name[0] == '-');
    if (marked && name.find('/') == name.npos && name != "+." && name != "-." && name != "+.." && name != "-..")
      names.push_back(name);
    at = end + 1;
  }
  return names;
}
[[gnu::cold]] inline void remove_if_there(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_system_error("remove", path);
}
inline bool is_index_name(std::string_view name) { return name.ends_with(".db"); }

/// Does what the list of a set says: +name is one of its files, -name one of the old set that the new one lacks.
[[gnu::cold]] inline void carry_out_commit(const std::string& path) {
  const std::string folder = directory_of(path);
  const std::vector<std::string> names = names_in_commit(path);
  const auto path_of = [&](const std::string& name) { return join_path(folder, std::string_view(name).substr(1)); };
  const auto waits = [&](const std::string& name) {
    return name[0] == '+' && file_exists(path_of(name) + std::string(unfinished_suffix));
  };
  for (const std::string& name : names)
    if (name[0] == '-' || (is_index_name(name) && waits(name))) remove_if_there(path_of(name));
  for (const bool indexes : {false, true}) {
    sync_directory(folder);
    for (const std::string& name : names) {
      if (is_index_name(name) != indexes || !waits(name)) continue;
      const std::string final_path = path_of(name);
      if (::rename((final_path + std::string(unfinished_suffix)).c_str(), final_path.c_str()) != 0)
        throw_system_error("rename the finished file to", final_path);
    }
  }
  sync_directory(folder);
  remove_if_there(path);
}

/// Ends a commit of that set that was interrupted, or waits for one that goes on. False if there is none.
[[gnu::cold]] inline bool finish_mind_record_commit(const std::string& set) {
  const std::string path = commit_path(set);
  for (;;) {
    if (!file_exists(path)) return false;
    const FileHandle list(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!list.valid() && errno == ENOENT) return false;
    if (!list.valid()) throw_system_error("open", path);
    while (::flock(list.get(), LOCK_EX) != 0)
      if (errno != EINTR) break;  // a file system without locks: nobody else is there
    if (!is_at(list, path)) continue;
    carry_out_commit(path);
    return true;
  }
}

/// Ends a commit of the set that has this file: its name is the set's, or that and a number.
[[gnu::cold]] inline bool finish_commit_of_file(const std::string& file) {
  std::string set = file;
  bool found = finish_mind_record_commit(set);
  for (int digits = 0; digits < 3 && !set.empty() && set.back() >= '0' && set.back() <= '9'; ++digits) {
    set.pop_back();
    found = finish_mind_record_commit(set) || found;
  }
  return found;
}

}  // namespace tenon::io::detail
