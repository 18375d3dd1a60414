// The modules that log lines come from.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::logging {

enum class Level { debug, info, warning, error, critical };

namespace detail {

/// The names that MS_SUBMODULE_LOG_v may have, those of MindSpore 2.10.
inline constexpr char modules[][18]{"UNKNOWN",  "CORE",        "ANALYZER", "COMMON", "DEBUG",     "OFFLINE_DEBUG",
                                    "DEVICE",   "GE_ADPT",     "IR",       "KERNEL", "MD",        "ME",
                                    "EXPRESS",  "OPTIMIZER",   "PARALLEL", "PARSER", "PIPELINE",  "PRE_ACT",
                                    "PYNATIVE", "SESSION",     "UTILS",    "VM",     "PROFILER",  "PS",
                                    "FL",       "DISTRIBUTED", "LITE",     "ARMOUR", "HCCL_ADPT", "RUNTIME_FRAMEWORK",
                                    "GE",       "API"};
inline constexpr int module_count = sizeof modules / sizeof *modules;

/// What our folders are called in MindSpore's table; the first row that fits. The rest is ME, as MindSpore's Python is.
struct ModuleOfFolder {
  char folder[16], module[10];
};
inline constexpr ModuleOfFolder modules_of_folders[]{{"core/memory/", "DEVICE"},   {"core/", "CORE"},
                                                     {"graph/pass/", "OPTIMIZER"}, {"run/", "SESSION"},
                                                     {"lowering/", "SESSION"},     {"graph/observe/", "DEBUG"},
                                                     {"graph/", "PIPELINE"},       {"backend/", "KERNEL"},
                                                     {"call/", "PYNATIVE"},        {"ops/", "ANALYZER"},
                                                     {"dataset/", "MD"},           {"io/", "UTILS"},
                                                     {"dist/", "PARALLEL"},        {"debug/profiler", "PROFILER"},
                                                     {"debug/", "DEBUG"},          {"", "ME"}};

/// The place of a name among `modules`, or module_count.
int module_index(std::string_view name);

/// Headers of Tenon by their path below include/, others as the compiler was given them.
std::string_view short_path(std::string_view file);

/// The module of a source file as the compiler calls it: of Tenon's headers by their folder, of all others ME.
int module_of_file(std::string_view file);

/// A text of the environment as it may stand in a line: cut where it is long, without what a terminal obeys.
std::string visible(std::string_view s);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE int module_index(std::string_view name) {
  int i = 0;
  while (i < module_count && name.compare(modules[i]) != 0) ++i;
  return i;
}
[[gnu::noinline]] TENON_INLINE std::string_view short_path(std::string_view file) {
  const auto start = file.rfind("include/tenon/");
  return start == file.npos ? file : file.substr(start + 8);
}
TENON_INLINE int module_of_file(std::string_view file) {
  const std::string_view path = short_path(file);
  if (path.size() == file.size()) return module_index("ME");
  const ModuleOfFolder* row = modules_of_folders;
  while (!path.substr(6).starts_with(row->folder)) ++row;
  return module_index(row->module);
}

/// One text of the parts. text() would make a template of each call, for which every program that includes Tenon pays.
[[gnu::cold, gnu::noinline]] inline std::string one_text(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all.append(part.data(), part.size());
  return all;
}
inline bool is_level(std::string_view s) { return s.size() == 1 && s[0] >= '0' && s[0] <= '4'; }
inline int threshold_of(std::string_view s) { return s[0] - '0' + 1; }

[[gnu::cold]] TENON_INLINE std::string visible(std::string_view s) {
  constexpr std::size_t longest = 120;
  std::string shown(s.substr(0, longest));
  for (char& c : shown)
    if ((c >= 0 && c < ' ') || c == 127) c = '?';
  if (s.size() > longest) shown += "...";
  return shown;
}

#endif
}  // namespace detail
}  // namespace tenon::logging
