// How much memory the machine, and the control group of the process, still have.
#pragma once
#include <atomic>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#endif

namespace tenon::inline TENON_ABI::detail {

/// The folder of proc/ and sys/: "/", but for tests.
std::atomic<const char*>& system_root();

/// Bytes that the process can touch before the system ends a process for it.
struct MachineMemory {
  double bytes;
  bool of_group;  // it is the control group that has no more, as in a container
};
/// Read from the system: some 50 us. What it does not say is no limit: then bytes is infinite. What files occupy in
/// memory, and swap space, count as free.
[[gnu::cold]] MachineMemory machine_memory();

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::atomic<const char*>& system_root() {
  static constinit std::atomic<const char*> root{"/"};
  return root;
}

/// The begin of a file of the system, "" if there is none.
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string system_file(std::string_view path) {
  std::string found = std::string(system_root()).append(path);
  std::FILE* const file = std::fopen(found.c_str(), "rb");
  found.clear();
  if (!file) return found;
  found.resize(1 << 14);
  found.resize(std::fread(found.data(), 1, found.size(), file));
  std::fclose(file);
  return found;
}
/// The number behind a word at the begin of a line, "" for that of the first line; infinite if there is none.
[[gnu::cold, gnu::noinline]] TENON_INLINE double number_behind(std::string_view word, std::string_view lines) {
  for (std::size_t end; !lines.empty(); lines.remove_prefix(std::min(end + 1, lines.size()))) {
    end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    if (!line.starts_with(word)) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", word.size()), line.size()));
    double number = 0;
    std::size_t digits = 0;
    for (; digits < line.size() && line[digits] >= '0' && line[digits] <= '9'; ++digits)
      number = number * 10 + (line[digits] - '0');
    return digits ? number : std::numeric_limits<double>::infinity();
  }
  return std::numeric_limits<double>::infinity();
}
/// What number_behind() has found, 0 for nothing.
TENON_INLINE double finite_or_zero(double number) {
  return number < std::numeric_limits<double>::infinity() ? number : 0;
}

/// The files of one version of control groups.
struct GroupFiles {
  std::string_view limit, usage, swap_limit, swap_usage, cached[3];
  bool swap_with_memory;  // the limit of swap space is one of both together
};
inline constexpr GroupFiles group_files[]{{"/memory.limit_in_bytes",
                                           "/memory.usage_in_bytes",
                                           "/memory.memsw.limit_in_bytes",
                                           "/memory.memsw.usage_in_bytes",
                                           {"total_inactive_file", "total_active_file", "\n"},
                                           true},
                                          {"/memory.max",
                                           "/memory.current",
                                           "/memory.swap.max",
                                           "/memory.swap.current",
                                           {"inactive_file", "active_file", "slab_reclaimable"},
                                           false}};

/// What one control group still allows.
[[gnu::cold, gnu::noinline]] TENON_INLINE double group_memory(const std::string& group, const GroupFiles& files,
                                                              double swap) {
  const double limit = number_behind("", system_file(group + std::string(files.limit)));
  if (limit > 0x1p60) return std::numeric_limits<double>::infinity();  // none, in both versions
  double room = limit - finite_or_zero(number_behind("", system_file(group + std::string(files.usage))));
  const double swap_room = number_behind("", system_file(group + std::string(files.swap_limit))) -
                           finite_or_zero(number_behind("", system_file(group + std::string(files.swap_usage))));
  swap = std::min(swap, std::max(0.0, files.swap_with_memory ? swap_room - room : swap_room));
  const std::string statistics = system_file(group + "/memory.stat");
  for (const std::string_view cached : files.cached) room += finite_or_zero(number_behind(cached, statistics));
  return std::max(0.0, room + swap);
}
/// The folder of the process in a hierarchy of control groups, "" if it says none. `controllers`: as in its line of
/// /proc/self/cgroup, which is "4:memory:/path", and of version 2 "0::/path".
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string group_of_process(std::string_view all, bool version_2) {
  for (std::size_t end; !all.empty(); all.remove_prefix(std::min(end + 1, all.size()))) {
    end = std::min(all.find('\n'), all.size());
    const std::string_view line = all.substr(0, end);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const bool found = version_2 ? controllers == ",," : controllers.find(",memory,") != controllers.npos;
    if (found) return std::string(line.substr(second + 1));
  }
  return {};
}

[[gnu::noinline]] TENON_INLINE MachineMemory machine_memory() {
  const std::string machine = system_file("proc/meminfo"), groups = system_file("proc/self/cgroup");
  const double swap = finite_or_zero(number_behind("SwapFree:", machine)) * 1024;
  MachineMemory least{number_behind("MemAvailable:", machine) * 1024 + swap, false};
  for (const std::string_view mount : {"sys/fs/cgroup", "sys/fs/cgroup/unified", "sys/fs/cgroup/memory"}) {
    const bool version_2 = !mount.ends_with("memory");
    // From its own group up to the first one, which bounds all below it. In a container the path may be one outside,
    // and only the first one is there.
    std::string path = group_of_process(groups, version_2);
    if (!path.starts_with('/') || path.find("/..") != path.npos) path.clear();
    for (bool more = true; more; path.resize(more ? path.rfind('/') : 0)) {
      const double room = group_memory(std::string(mount) + path, group_files[version_2], swap);
      if (room < least.bytes) least = {room, true};
      more = !path.empty();
    }
  }
  return least;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
