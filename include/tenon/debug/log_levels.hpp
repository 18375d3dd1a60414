// Levels for single modules: a program with this header, in any of its sources, follows MS_SUBMODULE_LOG_v.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/log/log.hpp>
#if TENON_DEFINES
#include <cstring>
#endif

namespace tenon::inline TENON_ABI::logging::detail {

/// `{name:number,...}` with blanks between them. After an error no level changes. If a name has two levels, the last
/// one counts. Text after the brace is ignored. Behaviour and messages are MindSpore's.
[[gnu::cold]] void read_module_levels(const char* submodules, Levels& levels);

#if !defined(TENON_COMPILED_PART)  // which many programs have that do not include this
inline const bool module_levels_are_built_in =
    (__atomic_store_n(&level_reader, &read_module_levels, __ATOMIC_RELEASE), true);
#endif

#if TENON_DEFINES
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
TENON_INLINE void read_module_levels(const char* submodules, Levels& levels) {
  std::string_view rest = submodules;
  std::string_view asked[module_count], name;
  char expected = '{';
  LevelToken token = next_level_token(rest);
  if (token.kind == '.') return;
  std::string warnings;
  for (;; token = next_level_token(rest)) {
    if (token.kind != expected && !(expected == '}' && token.kind == ',')) {
      levels.warnings +=
          one_text({"Parse submodule log configuration text error, expect `", kind_name(expected), "`, but got `",
                    kind_name(token.kind), "`. The whole configuration will be ignored.\n"});
      return;
    }
    if (token.kind == '}') break;
    if (token.kind == 'a') name = token.text;
    if (token.kind != '0') expected = token.kind == 'a' ? ':' : token.kind == ':' ? '0' : 'a';
    else if (expected = '}'; module_index(name) < module_count) asked[module_index(name)] = token.text;
    else warnings += one_text({"Undefined module name ", name, ", ignore it\n"});
  }
  levels.warnings += warnings;
  for (int i = 0; i < module_count; ++i) {
    if (is_level(asked[i])) levels.of[i] = threshold_of(asked[i]);
    else if (!asked[i].empty())
      levels.warnings += one_text({"Illegal log level value ", asked[i], " for ", modules[i], ", ignore it.\n"});
  }
}
#endif

}  // namespace tenon::logging::detail
