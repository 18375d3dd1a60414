// run_environment: the machine of a program, and how it was built.
#pragma once
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <sys/utsname.h>
#include <unistd.h>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/debug/profiler/peak.hpp>
#include <tenon/io/path/host_name.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

/// The value of the first line of a file of the system that begins with `key`; "" if there is none.
[[gnu::cold]] inline std::string system_line(const char* path, std::string_view key) {
  std::string found;
  std::FILE* const file = std::fopen(path, "r");
  if (!file) return found;
  char line[512];
  while (found.empty() && std::fgets(line, sizeof line, file)) {
    const std::string_view text(line);
    if (!text.starts_with(key)) continue;
    const std::size_t begin = text.find_first_not_of(" \t:=\"", key.size());
    if (begin != text.npos) found = text.substr(begin, text.find_last_not_of("\"\n \t") + 1 - begin);
  }
  std::fclose(file);
  return found;
}
/// The words of this process's command line, the first 500 characters.
[[gnu::cold]] inline std::string command_line() {
  char words[500];
  std::FILE* const file = std::fopen("/proc/self/cmdline", "rb");
  if (!file) return {};
  std::string line(words, std::fread(words, 1, sizeof words, file));
  std::fclose(file);
  while (!line.empty() && line.back() == 0) line.pop_back();
  for (char& c : line)
    if (c == 0) c = ' ';
  return line;
}
constexpr std::string_view compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace detail

/// Names and values, in the order of importance. Values that the system does not report are left out.
[[gnu::cold]] inline std::vector<std::pair<std::string, std::string>> run_environment() {
  utsname system{};
  ::uname(&system);
  const double memory = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  std::vector<std::pair<std::string, std::string>> all{
      {"Program", detail::command_line()},
      {"Tenon", TENON_VERSION},
      {"Compiler", std::string(detail::compiler_name())},
      {"Instructions", detail::instruction_set()},
      {"Processor", detail::system_line("/proc/cpuinfo", "model name")},
      {"Processors", std::to_string(tenon::detail::processors())},
      {"Memory", tenon::detail::memory_text(memory)},
      {"System",
       text(detail::system_line("/etc/os-release", "PRETTY_NAME"), ", ", system.sysname, " ", system.release)},
      {"Host", io::host_name()}};
  std::erase_if(all, [](const auto& one) { return one.second.empty(); });
  return all;
}

}  // namespace tenon::debug
