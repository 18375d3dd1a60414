// Which log lines are written: the modules that they come from, and a level for each, from GLOG_v and
// MS_SUBMODULE_LOG_v.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#if TENON_DEFINES
#include <cstring>
#endif

namespace tenon::inline TENON_ABI::logging {

enum class Level { debug, info, warning, error, critical };

namespace detail {

/// The names that MS_SUBMODULE_LOG_v may have, those of MindSpore 2.10.
inline constexpr const char* modules[]{
    "UNKNOWN",  "CORE",        "ANALYZER", "COMMON", "DEBUG",     "OFFLINE_DEBUG",
    "DEVICE",   "GE_ADPT",     "IR",       "KERNEL", "MD",        "ME",
    "EXPRESS",  "OPTIMIZER",   "PARALLEL", "PARSER", "PIPELINE",  "PRE_ACT",
    "PYNATIVE", "SESSION",     "UTILS",    "VM",     "PROFILER",  "PS",
    "FL",       "DISTRIBUTED", "LITE",     "ARMOUR", "HCCL_ADPT", "RUNTIME_FRAMEWORK",
    "GE",       "API"};
inline constexpr int module_count = sizeof modules / sizeof *modules;

/// What our folders are called in MindSpore's table; the first row that fits. The rest is ME, as MindSpore's Python is.
inline constexpr const char* modules_of_folders[][2]{{"core/memory/", "DEVICE"},
                                                     {"core/", "CORE"},
                                                     {"graph/pass/", "OPTIMIZER"},
                                                     {"graph/execute/", "SESSION"},
                                                     {"graph/observe/", "DEBUG"},
                                                     {"graph/", "PIPELINE"},
                                                     {"kernel/", "KERNEL"},
                                                     {"eager/", "PYNATIVE"},
                                                     {"ops/", "ANALYZER"},
                                                     {"dataset/", "MD"},
                                                     {"io/", "UTILS"},
                                                     {"dist/", "PARALLEL"},
                                                     {"debug/profiler", "PROFILER"},
                                                     {"debug/", "DEBUG"},
                                                     {"", "ME"}};

/// The place of a name among `modules`, or module_count.
int module_index(std::string_view name);

/// Headers of Tenon by their path below include/, others as the compiler was given them.
std::string_view short_path(std::string_view file);

/// The module of a source file as the compiler calls it: of Tenon's headers by their folder, of all others ME.
int module_of_file(std::string_view file);

/// A text of the environment as it may stand in a line: cut where it is long, without what a terminal obeys.
std::string visible(std::string_view s);

/// A level plus 1 for each module, and lines about what the variables say wrong.
struct Levels {
  int of[module_count]{};
  std::string warnings{};
};
/// What GLOG_v and MS_SUBMODULE_LOG_v ask for; null is a variable that is not set. Any text gives levels.
[[gnu::cold]] Levels levels_of(const char* glog_v, const char* submodules);

#if TENON_DEFINES
TENON_INLINE int module_index(std::string_view name) {
  int i = 0;
  while (i < module_count && name.compare(modules[i]) != 0) ++i;
  return i;
}
TENON_INLINE std::string_view short_path(std::string_view file) {
  const auto start = file.rfind("include/tenon/");
  return start == file.npos ? file : file.substr(start + 8);
}
TENON_INLINE int module_of_file(std::string_view file) {
  const std::string_view path = short_path(file);
  if (path.size() == file.size()) return module_index("ME");
  const auto* row = modules_of_folders;
  while (path.find((*row)[0], 6) != 6) ++row;
  return module_index((*row)[1]);
}

/// Appends the parts. text() would make a template of each call, which whoever includes Tenon pays for.
inline void add(std::string& all, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) all.append(part.data(), part.size());
}
inline bool is_level(std::string_view s) { return s.size() == 1 && s[0] >= '0' && s[0] <= '4'; }
inline int threshold_of(std::string_view s) { return s[0] - '0' + 1; }

TENON_INLINE std::string visible(std::string_view s) {
  constexpr std::size_t longest = 120;
  std::string shown;
  for (const char c : s.substr(0, longest)) shown += (c >= 0 && c < ' ') || c == 127 ? '?' : c;
  return s.size() > longest ? shown + "..." : shown;
}

/// A part of MS_SUBMODULE_LOG_v. Its kind is one of {}:, or a for a name, 0 for a number, . for the end, ? for others.
struct LevelToken {
  char kind;
  std::string_view text;
};
/// What MindSpore calls it.
[[gnu::cold]] inline const char* kind_name(char kind) {
  static constexpr const char* names[]{"{", "}", ":", ",", "avariable", "0number", ".end-of-string", "?invalid"};
  const char* const* name = names;
  while (**name != kind) ++name;
  return name - names < 4 ? *name : *name + 1;
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
[[gnu::cold]] inline LevelToken next_level_token(std::string_view& rest) {
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
  if (rest.empty()) return {'.', rest};
  const bool name = is_letter(rest[0]), number = is_digit(rest[0]);
  std::size_t size = 1;
  if (name || number)
    while (size < rest.size() && (is_digit(rest[size]) || (name && (is_letter(rest[size]) || rest[size] == '_'))))
      ++size;
  const std::string_view found = rest.substr(0, size);
  rest.remove_prefix(size);
  return {name ? 'a' : number ? '0' : std::strchr("{}:,", found[0]) ? found[0] : '?', found};
}
/// `{name:number,...}` with blanks between them. An error leaves all levels as they were, of two levels for a name the
/// last one counts, and what is behind the brace is not looked at: as in MindSpore, with its sentences.
[[gnu::cold]] inline void read_modules(std::string_view rest, Levels& levels) {
  std::string_view asked[module_count], name;
  char expected = '{';
  LevelToken token = next_level_token(rest);
  if (token.kind == '.') return;
  std::string warnings;
  for (;; token = next_level_token(rest)) {
    if (token.kind != expected && !(expected == '}' && token.kind == ',')) {
      add(levels.warnings, {"Parse submodule log configuration text error, expect `", kind_name(expected),
                            "`, but got `", kind_name(token.kind), "`. The whole configuration will be ignored.\n"});
      return;
    }
    if (token.kind == '}') break;
    if (token.kind == 'a') name = token.text;
    if (token.kind != '0') expected = token.kind == 'a' ? ':' : token.kind == ':' ? '0' : 'a';
    else if (expected = '}'; module_index(name) < module_count) asked[module_index(name)] = token.text;
    else add(warnings, {"Undefined module name ", name, ", ignore it\n"});
  }
  levels.warnings += warnings;
  for (int i = 0; i < module_count; ++i) {
    if (is_level(asked[i])) levels.of[i] = threshold_of(asked[i]);
    else if (!asked[i].empty())
      add(levels.warnings, {"Illegal log level value ", asked[i], " for ", modules[i], ", ignore it.\n"});
  }
}
TENON_INLINE Levels levels_of(const char* glog_v, const char* submodules) {
  Levels levels;
  const std::string_view asked = glog_v ? glog_v : "";
  if (!asked.empty() && !is_level(asked))
    add(levels.warnings,
        {"Incorrect log level, please check the configuration of GLOG_v or GLOG_stderrthreshold, desired "
         "log level: 4-CRITICAL, 3-ERROR, 2-WARNING, 1-INFO, 0-DEBUG. But got ",
         visible(asked), ". It is 2.\n"});
  for (int& level : levels.of) level = threshold_of(is_level(asked) ? asked : "2");
  if (submodules) read_modules(submodules, levels);
  return levels;
}
#endif
}  // namespace detail
}  // namespace tenon::logging
