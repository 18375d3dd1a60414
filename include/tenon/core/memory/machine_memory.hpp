// How much memory the machine, and the control group of the process, still have.
#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/thread/atomic.hpp>
#if TENON_DEFINES
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#endif

namespace tenon::inline TENON_ABI::detail {

/// The folder of proc/ and sys/: "/", but for tests.
Atomic<const char*>& system_root();

/// Bytes that the process can touch before the system ends a process for it.
struct MachineMemory {
  double bytes;
  bool of_group;  // it is the control group that has no more, as in a container
};
/// Read from the system: some 50 us. What it does not say is no limit: then bytes is infinite. What files occupy in
/// memory, and swap space, count as free. `reserved`: bytes of all blocks of this process. The system gives a page when
/// it is first touched, and calls it free before: what is not touched yet counts as taken here.
[[gnu::cold]] MachineMemory machine_memory(double reserved = 0);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE Atomic<const char*>& system_root() {
  static constinit Atomic<const char*> root{"/"};
  return root;
}

// C strings: a compiler takes less time for them.
using SystemText = char[1 << 13];

/// The begin of a file of the system, which is that of the texts in a row; "" if there is none.
[[gnu::cold, gnu::noinline]] TENON_INLINE void read_system(SystemText& text, const char* mount, const char* group,
                                                           const char* name) {
  std::snprintf(text, sizeof text, "%s%s%s%s", system_root().load(), mount, group, name);
  std::FILE* const file = std::fopen(text, "rb");
  text[file ? std::fread(text, 1, sizeof text - 1, file) : 0] = 0;
  if (file) std::fclose(file);
}
/// The number at `at`, or after a word at the begin of a line; infinite if there is none.
[[gnu::cold, gnu::noinline]] TENON_INLINE double number_at(const char* at) {
  char* end = nullptr;
  const double number = at ? std::strtod(at, &end) : 0;
  return end == at ? std::numeric_limits<double>::infinity() : number;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE double number_behind(const char* word, const char* text) {
  const std::size_t length = std::strlen(word);
  for (const char* line = text; line; line = std::strchr(line, '\n'), line += line != nullptr)
    if (std::strncmp(line, word, length) == 0) return number_at(line + length);
  return std::numeric_limits<double>::infinity();
}

/// The files of one version of control groups.
struct GroupFiles {
  char limit[24], usage[24], swap_limit[30], swap_usage[30], cached[3][21];
  bool swap_with_memory;  // the limit of swap space is one of both together
};
inline constexpr GroupFiles group_files[]{{"/memory.limit_in_bytes",
                                           "/memory.usage_in_bytes",
                                           "/memory.memsw.limit_in_bytes",
                                           "/memory.memsw.usage_in_bytes",
                                           {"total_inactive_file ", "total_active_file ", "-"},
                                           true},
                                          {"/memory.max",
                                           "/memory.current",
                                           "/memory.swap.max",
                                           "/memory.swap.current",
                                           {"inactive_file ", "active_file ", "slab_reclaimable "},
                                           false}};

/// What one control group still allows, with so much swap space.
[[gnu::cold, gnu::noinline]] TENON_INLINE double group_memory(const char* mount, const char* group,
                                                              const GroupFiles& files, double swap) {
  SystemText text;
  const auto number = [&](const char* name) {
    read_system(text, mount, group, name);
    return number_at(text);
  };
  const double limit = number(files.limit), no_limit = std::numeric_limits<double>::infinity();
  if (!(limit < 0x1p60)) return no_limit;  // version 1 says 2^63, version 2 "max"
  const double usage = number(files.usage);
  double room = usage < no_limit ? math::max(0.0, limit - usage) : limit;
  const double swap_room = number(files.swap_limit), swap_used = number(files.swap_usage);
  if (swap_used < no_limit)
    swap = math::min(swap, math::max(0.0, swap_room - swap_used - (files.swap_with_memory ? room : 0)));
  read_system(text, mount, group, "/memory.stat");
  for (const auto& name : files.cached)
    if (const double cached = number_behind(name, text); cached < no_limit) room += cached;
  return math::min(room, limit) + swap;
}
/// The control group of the process, "" if it is the first one or not known. `controllers`: what stands in its line of
/// /proc/self/cgroup, which is "4:memory:/path", and "0::/path" in version 2.
[[gnu::cold, gnu::noinline]] TENON_INLINE void find_group(SystemText& text, const char* controllers) {
  read_system(text, "proc/self/cgroup", "", "");
  for (char* line = text; line; line = std::strchr(line, '\n'), line += line != nullptr) {
    const char* const found = std::strstr(line, controllers);
    char* const path = std::strchr(line, '/');
    if (!found || !path || found > path) continue;
    char* const end = std::strchr(path, '\n');
    if (end) *end = 0;
    // outside of what a container sees
    if (std::strstr(path, "/..")) break;
    std::memmove(text, path, std::strlen(path) + 1);
    return;
  }
  text[0] = 0;
}

[[gnu::noinline]] TENON_INLINE MachineMemory machine_memory([[maybe_unused]] double reserved) {
  SystemText text;
  double untouched = 0;     // beyond all that the process has, in memory or swap space
#if !defined(TENON_TARGET)  // what a second target alone has is never touched here
  read_system(text, "proc/self/status", "", "");
  const double swapped = number_behind("VmSwap:", text);
  untouched = math::max(0.0, reserved - 1024 * (number_behind("RssAnon:", text) + (swapped < 0x1p60 ? swapped : 0)));
#endif
  read_system(text, "proc/meminfo", "", "");
  double swap = number_behind("SwapFree:", text) * 1024;
  if (!(swap < 0x1p60)) swap = 0;
  MachineMemory least{number_behind("MemAvailable:", text) * 1024 + swap, false};
  constexpr const char* mounts[]{"sys/fs/cgroup/memory", "sys/fs/cgroup", "sys/fs/cgroup/unified"};
  for (const char* const mount : mounts) {
    const bool version_2 = mount != mounts[0];
    // From its own group up to the first one, which bounds all below it. In a container the path may be one outside,
    // and only the first one is there.
    find_group(text, version_2 ? "0::" : "memory");
    for (char* end = text;; *end = 0) {
      const double room = group_memory(mount, text, group_files[version_2], swap);
      if (room < least.bytes) least = {room, true};
      end = std::strrchr(text, '/');
      if (!end) break;
    }
  }
  least.bytes = math::max(0.0, least.bytes - untouched);
  return least;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
