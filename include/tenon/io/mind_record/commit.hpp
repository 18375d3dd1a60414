// How all files of a MindRecord set appear at once, whenever their writer is killed.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/place.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io::detail {

// A set is written under names that no reader uses. Its commit begins with a file `<set>.commit`, which only one writer
// can make: it is locked as long as that one lives, and lists the files to be. They are put on the disk and called
// `<name>.unfinished`. When all are there, a complete list takes the place of the first one, in one step: from here on
// the set is the new one, and every program that finds the list does what it says, also the next program after a kill.
// First the indexes of an older set go, then the files get their names, at last the indexes: a file whose index is
// missing is not complete, for MindSpore, too.
//
// So files are called `.unfinished` only while a list is there, and it says whose they are. One that is not complete
// and that is not locked is of a writer that was killed: the next one removes the files, then the list. Readers
// leave it alone; of a set that is being written they see the old one.
//
// A file `<set>.commit` that is something else (no regular file, no title of ours, a name in it that is none of the
// set's) belongs to another user: it is never removed, nothing is done that it says. Readers read the set as it is, and
// what makes it incomplete they find; writers refuse, for they need the name. A list that a reader may not open is the
// same to it; one that it may not remove stays if all is done that it says.

inline constexpr std::string_view unfinished_suffix = ".unfinished", commit_suffix = ".commit",
                                  commit_title = "MindRecord files to be renamed; removed when that is done\n",
                                  preparation_title = "MindRecord files being written; removed when that is done\n";

inline std::string commit_path(const std::string& set) { return set + std::string(commit_suffix); }

/// Whether a set can have a file of that name: the set's, or that and a number, or the index of such a file.
[[gnu::cold]] inline bool is_name_of_set(std::string_view name, std::string_view set) {
  const std::string_view base = set.substr(set.find_last_of('/') + 1);
  if (base.empty() || !name.starts_with(base)) return false;
  name.remove_prefix(base.size());
  if (name.ends_with(".db")) name.remove_suffix(3);
  return name.size() <= 3 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}
inline bool is_index_name(std::string_view name) { return name.ends_with(".db"); }

/// What is at the name of a set's list.
struct CommitList {
  enum class Kind { none, foreign, prepared, complete };
  Kind kind = Kind::none;
  FileHandle file{-1};
  std::vector<std::string> lines;  // +name is a file of the set, -name one of the old set that the new one lacks
};

/// False if a line is none that this program writes.
[[gnu::cold]] inline bool read_commit_lines(const std::string& set, std::string_view text,
                                            std::vector<std::string>& lines) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == text.npos || end < 2 || (text[0] != '+' && text[0] != '-')) return false;
    if (!is_name_of_set(text.substr(1, end - 1), set)) return false;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return !lines.empty();
}
/// Whether the system has refused something to this user, or on this disk.
inline bool is_not_permitted(int reason) { return reason == EACCES || reason == EPERM || reason == EROFS; }

/// may_be_private: a list that may not be opened belongs to another user.
[[gnu::cold]] inline CommitList read_commit_list(const std::string& set, bool may_be_private) {
  using enum CommitList::Kind;
  constexpr std::uint64_t most = 1 << 20;  // bytes; 1000 files of the longest names need fewer
  const std::string path = commit_path(set);
  CommitList list;
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return list;
  list.kind = foreign;
  if (!S_ISREG(status.st_mode)) return list;
  list.file = open_to_lock(path);
  if (!list.file.valid() && errno == ENOENT) return {};
  if (!list.file.valid() && may_be_private && is_not_permitted(errno)) return list;
  if (!list.file.valid() || ::fstat(list.file.get(), &status) != 0) throw_system_error("open", path);
  if (!S_ISREG(status.st_mode)) return list;
  std::string content(std::max(commit_title.size(), preparation_title.size()), '\0');
  content.resize(read_part(list.file, content.data(), content.size(), 0, path));
  const bool all = content.starts_with(commit_title);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if ((!all && !content.starts_with(preparation_title)) || size > most) return list;
  content.resize(static_cast<std::size_t>(size));
  content.resize(read_part(list.file, content.data(), content.size(), 0, path));
  const std::size_t title = all ? commit_title.size() : preparation_title.size();
  if (content.size() >= title && read_commit_lines(set, std::string_view(content).substr(title), list.lines))
    list.kind = all ? complete : prepared;
  return list;
}

/// False if another process has locked it, and the lock is not waited for.
[[gnu::cold]] inline bool lock_list(const FileHandle& list, bool waits) {
  while (::flock(list.get(), waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) return errno != EWOULDBLOCK;  // a file system without locks: no other process is there
  return true;
}
[[gnu::cold]] inline void remove_if_there(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  const int reason = errno;  // on a disk that is read only that of any name
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return;
  errno = reason;
  throw_system_error("remove", path);
}
inline std::string path_of_line(const std::string& folder, std::string_view line) {
  return join_path(folder, line.substr(1));
}
inline std::string unfinished_path_of_line(const std::string& folder, std::string_view line) {
  return path_of_line(folder, line) + std::string(unfinished_suffix);
}

/// Whether the line is of a file that the new set lacks. A name with both signs is the new set's.
[[gnu::cold]] inline bool is_removed(const std::string& line, std::span<const std::string> lines) {
  return line[0] == '-' && std::ranges::find(lines, "+" + line.substr(1)) == lines.end();
}
inline bool waits(const std::string& folder, const std::string& line) {
  return line[0] == '+' && file_exists(unfinished_path_of_line(folder, line));
}
/// False if all is done that a complete list says.
[[gnu::cold]] inline bool is_left_to_do(const std::string& folder, std::span<const std::string> lines) {
  struct stat status;
  return std::ranges::any_of(lines, [&](const std::string& line) {
    return waits(folder, line) ||
           (is_removed(line, lines) && ::lstat(path_of_line(folder, line).c_str(), &status) == 0);
  });
}
/// Does what a complete list says. Done twice, or in parts, it comes to the same.
[[gnu::cold]] inline void carry_out_commit(const std::string& folder, std::span<const std::string> lines) {
  for (const std::string& line : lines)
    if (is_removed(line, lines) || (is_index_name(line) && waits(folder, line)))
      remove_if_there(path_of_line(folder, line));
  for (const bool indexes : {false, true}) {
    sync_directory(folder);
    for (const std::string& line : lines) {
      if (is_index_name(line) != indexes || !waits(folder, line)) continue;
      const std::string path = path_of_line(folder, line);
      if (::rename(unfinished_path_of_line(folder, line).c_str(), path.c_str()) != 0)
        throw_system_error("rename the finished file to", path);
    }
  }
  sync_directory(folder);
}
/// Removes what a writer has put on the disk for a set that will not be.
[[gnu::cold]] inline void remove_unfinished(const std::string& folder, std::span<const std::string> lines) {
  for (const std::string& line : lines) ::unlink(unfinished_path_of_line(folder, line).c_str());
  sync_directory(folder);
}

/// Who finds a list. One that is not complete is nothing to a reader; a writer removes it if it is a killed one's; if
/// its writer lives, another one waits for it when it commits, and continues before that.
enum class CommitUse { read, begin, commit };

/// Ends an interrupted commit for a reader, who may not be permitted to. False if nothing could be done, nor had to be.
[[gnu::cold]] inline bool finish_to_read(const std::string& set, std::span<const std::string> lines) {
  const std::string path = commit_path(set), folder = directory_of(path);
  const bool left = is_left_to_do(folder, lines);
  try {
    if (left) carry_out_commit(folder, lines);
  } catch (const RuntimeError& error) {
    throw_error<RuntimeError>("'", set, "' cannot be read: the commit that '", path, "' lists was interrupted and has ",
                              "to be ended by somebody who may write there, by reading the set. ", error.what());
  }
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  if (!is_not_permitted(errno)) throw_system_error("remove", path);
  return left;
}
/// Ends a commit of that set that was interrupted, or waits for one that continues. False if there is none.
[[gnu::cold]] inline bool settle_commit(const std::string& set, CommitUse use) {
  using enum CommitList::Kind;
  const std::string path = commit_path(set), folder = directory_of(path);
  for (;;) {
    const CommitList list = read_commit_list(set, use == CommitUse::read);
    if (list.kind == none) return false;
    if (list.kind == foreign && use != CommitUse::read)
      throw_error<RuntimeError>("'", set, "' cannot be written: '", path, "', which its writer needs, is there and is ",
                                "not what a writer leaves; move it away, or give the set another name.");
    if (list.kind != complete && use == CommitUse::read) return false;
    if (!lock_list(list.file, list.kind == complete || use == CommitUse::commit)) return false;
    if (!is_at(list.file, path)) continue;  // its writer went on, or is done
    if (use == CommitUse::read) return finish_to_read(set, list.lines);
    if (list.kind == complete) carry_out_commit(folder, list.lines);
    else remove_unfinished(folder, list.lines);
    remove_if_there(path);
    return true;
  }
}

/// The sets that may have this file: its name is the set's, or that and a number. Its path may be a link to a file of a
/// set elsewhere; target: another path of the same file, or one that leads nowhere.
[[gnu::cold]] inline std::vector<std::string> sets_of_file(const std::string& file, const std::string& target) {
  std::vector<std::string> sets;
  char* const real = ::realpath(target.c_str(), nullptr);
  for (std::string set : {file, std::string(real ? real : "")}) {
    if (!set.empty()) sets.push_back(set);
    for (int digits = 0; digits < 3 && !set.empty() && set.back() >= '0' && set.back() <= '9'; ++digits) {
      set.pop_back();
      sets.push_back(set);
    }
  }
  std::free(real);
  return sets;
}
/// Ends the commits of these sets.
[[gnu::cold]] inline bool finish_commit_of_file(const std::string& file, const std::string& target) {
  bool found = false;
  for (const std::string& set : sets_of_file(file, target)) found = settle_commit(set, CommitUse::read) || found;
  return found;
}

/// The commit of a set, from its first list to its end. There is one at a time; the next one waits. Without publish()
/// nothing is left of it, and the set is what it was.
class MindRecordCommit {
 public:
  /// names: of the files and indexes to be, without their folder.
  [[gnu::cold]] MindRecordCommit(const std::string& set, const std::vector<std::string>& names)
      : path_(commit_path(set)), folder_(directory_of(path_)) {
    std::string content(preparation_title);
    for (const std::string& name : names) {
      lines_.push_back("+" + name);
      content += lines_.back() + "\n";
    }
    do {
      settle_commit(set, CommitUse::commit);
      list_.emplace(path_);
      list_->write(std::as_bytes(std::span(content)));
    } while (!list_->move_to_free(path_));
    sync_directory(folder_);
    for (const std::string& line : lines_) {
      const std::string unfinished = unfinished_path_of_line(folder_, line);
      struct stat status;
      if (::lstat(unfinished.c_str(), &status) != 0) continue;
      ::unlink(path_.c_str());
      throw_error<RuntimeError>("'", set, "' cannot be committed: '", unfinished,
                                "', whose name is needed for that, is ",
                                "there and no writer's; move it away, and call commit() again.");
    }
  }
  MindRecordCommit(const MindRecordCommit&) = delete;
  [[gnu::cold]] ~MindRecordCommit() {
    if (published_ || !is_at(list_->handle(), path_)) return;
    remove_unfinished(folder_, lines_);
    ::unlink(path_.c_str());
  }

  /// Puts a finished file on the disk that is to have this path.
  [[gnu::cold]] void add(TemporaryFile& file, const std::string& path) {
    file.move_to(path + std::string(unfinished_suffix));
  }
  /// Makes all of them the set. removed: the names of files that the old set has and this one lacks.
  [[gnu::cold]] void publish(const std::vector<std::string>& removed) {
    sync_directory(folder_);
    for (const std::string& line : lines_) check(unfinished_path_of_line(folder_, line));
    if (!is_at(list_->handle(), path_)) fail(path_);
    std::vector<std::string> lines;
    for (const std::string& name : removed)
      if (is_removed("-" + name, lines_)) lines.push_back("-" + name);
    lines.insert(lines.end(), lines_.begin(), lines_.end());
    std::string content(commit_title);
    for (const std::string& line : lines) content += line + "\n";
    TemporaryFile complete(path_);  // locked until its end, as the first one is: no other process does what it says
    complete.write(std::as_bytes(std::span(content)));
    complete.move_into_place();
    published_ = true;
    sync_directory(folder_);
    carry_out_commit(folder_, lines);
    std::string missing;
    for (const std::string& line : lines_)
      if (!file_exists(path_of_line(folder_, line))) missing = path_of_line(folder_, line);
    remove_if_there(path_);
    if (!missing.empty())
      throw_error<RuntimeError>("'", missing, "' is missing as soon as it was written: another program removes the ",
                                "files of the set.");
  }

 private:
  [[noreturn, gnu::cold]] static void fail(const std::string& path) {
    throw_error<RuntimeError>("The MindRecord files are not committed, and what was there has not changed: '", path,
                              "' has vanished; another program removes the files of the set while they are written.");
  }
  [[gnu::cold]] static void check(const std::string& path) {
    if (!file_exists(path)) fail(path);
  }

  std::string path_, folder_;
  std::vector<std::string> lines_;
  std::optional<TemporaryFile> list_;
  bool published_ = false;
};

}  // namespace tenon::io::detail
