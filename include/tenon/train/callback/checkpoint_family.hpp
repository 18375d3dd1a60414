// The files of a prefix of ModelCheckpoint in a folder, over all of its runs, and which runs are alive.
#pragma once
#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/io/path/lock_file.hpp>
#if TENON_DEFINES
#include <dirent.h>
#include <algorithm>
#include <charconv>

#include <tenon/train/file/training_parts.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Which run of a prefix, which epoch, and which step a file is of.
struct CheckpointName {
  long run = -1, epoch = -1, step = -1;
  bool valid() const { return step >= 0; }
  auto operator<=>(const CheckpointName&) const = default;
};
/// Not valid for the name of any other file.
[[gnu::cold]] CheckpointName parse_checkpoint_name(std::string_view name, std::string_view prefix);

/// What copies of a ModelCheckpoint share: the lock of their prefix, and whether one of them has begun a file.
struct ReservedRun {
  io::LockFile lock;
  bool has_files = false;
  explicit ReservedRun(const std::string& path) : lock(path) {}
};
/// A name that a run has for itself: its files begin with it. The lock lasts as long as the run.
struct ReservedPrefix {
  std::string prefix{};
  std::shared_ptr<ReservedRun> run{};
};
/// The prefix itself for the first run in a folder, `<prefix>_<n>` for later ones, with n above that of all runs that
/// have left files and of all that are alive. Two runs never get the same one, also when they start together. A run is
/// alive while its `.<prefix>_<n>.lock` is locked. Throws RuntimeError if the folder cannot be read or written.
[[gnu::cold]] ReservedPrefix reserve_prefix(std::string_view prefix, const std::string& directory);

/// The paths of files of all runs that have ended, but for those that begin with `own`, the newest first.
[[gnu::cold]] std::vector<std::string> checkpoints_of_ended_runs(std::string_view prefix, std::string_view own,
                                                                 const std::string& directory);

#if TENON_DEFINES
/// Takes a text from the begin of another one.
[[gnu::cold]] inline bool skip_text(std::string_view& from, std::string_view text) {
  if (!from.starts_with(text)) return false;
  from.remove_prefix(text.size());
  return true;
}
/// Takes a number; false if there is none, and for one that no run counts to: it is a foreign file.
[[gnu::cold]] inline bool skip_number(std::string_view& from, long& number) {
  constexpr long most = 1L << 60;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
  if (error != std::errc() || number < 0 || number > most) return false;
  from.remove_prefix(std::size_t(end - from.data()));
  return true;
}
/// Takes `<prefix>` or `<prefix>_<run>`.
[[gnu::cold]] inline bool skip_run(std::string_view& from, std::string_view prefix, long& run) {
  run = 0;
  return skip_text(from, prefix) && (!skip_text(from, "_") || skip_number(from, run));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE CheckpointName parse_checkpoint_name(std::string_view name,
                                                                               std::string_view prefix) {
  CheckpointName found;
  if (!skip_run(name, prefix, found.run) || !skip_text(name, "-") || !skip_number(name, found.epoch) ||
      !skip_text(name, "_") || !skip_number(name, found.step) ||
      (name != ".safetensors" && name != ".ckpt" && !is_first_part(name)))
    return {};
  return found;
}
/// Calls f(file name) for what is in a directory; false if it cannot be read.
template <class F>
bool each_file(const std::string& directory, F f) {
  DIR* const open = ::opendir(directory.c_str());
  if (!open) return false;
  while (const dirent* const entry = ::readdir(open)) f(std::string_view(entry->d_name));
  ::closedir(open);
  return true;
}
[[gnu::cold]] inline std::string prefix_of_run(std::string_view prefix, long run) {
  return run == 0 ? std::string(prefix) : text(prefix, "_", run);
}
[[gnu::cold]] inline std::string lock_of_run(std::string_view prefix, long run, const std::string& directory) {
  return io::join_path(directory, text(".", prefix_of_run(prefix, run), ".lock"));
}
/// The largest number of a run that has files, -1 if there are none.
[[gnu::cold]] inline long last_run(std::string_view prefix, const std::string& directory) {
  long last = -1;
  if (!each_file(directory, [&](std::string_view name) {
        if (const CheckpointName one = parse_checkpoint_name(name, prefix); one.valid()) last = std::max(last, one.run);
      }))
    io::throw_system_error("read the directory", directory);
  return last;
}
/// Removes the lock files of runs that were killed.
[[gnu::cold]] inline void remove_abandoned_locks(std::string_view prefix, const std::string& directory) {
  each_file(directory, [&](std::string_view name) {
    long run = 0;
    std::string_view rest = name;
    if (skip_text(rest, ".") && skip_run(rest, prefix, run) && rest == ".lock")
      io::LockFile::remove_abandoned(io::join_path(directory, name));
  });
}
[[gnu::cold, gnu::noinline]] TENON_INLINE ReservedPrefix reserve_prefix(std::string_view prefix,
                                                                        const std::string& directory) {
  for (long run = last_run(prefix, directory) + 1;; ++run) {
    auto mine = std::make_shared<ReservedRun>(lock_of_run(prefix, run, directory));
    if (!mine->lock.owned()) continue;
    // a run that has ended since the folder was read may have left files of this name
    if (const long last = last_run(prefix, directory); last >= run) {
      run = last;
      continue;
    }
    remove_abandoned_locks(prefix, directory);
    return {prefix_of_run(prefix, run), std::move(mine)};
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::vector<std::string> checkpoints_of_ended_runs(
    std::string_view prefix, std::string_view own, const std::string& directory) {
  std::vector<std::pair<CheckpointName, std::string>> files;
  each_file(directory, [&](std::string_view name) {
    const CheckpointName one = parse_checkpoint_name(name, prefix);
    if (one.valid() && prefix_of_run(prefix, one.run) != own) files.emplace_back(one, name);
  });
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a > b; });
  std::vector<std::string> paths;
  long run = -1;
  bool ended = false;
  for (const auto& [name, file] : files) {
    if (name.run != run) ended = io::LockFile::remove_abandoned(lock_of_run(prefix, run = name.run, directory));
    if (ended) paths.push_back(io::join_path(directory, whole_name(file)));
  }
  return paths;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
