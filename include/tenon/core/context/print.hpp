// print_context: the current settings, and where each comes from.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/context/parallel.hpp>

namespace tenon::inline TENON_ABI {

/// A table of all settings that do something or were set: key, value, and whether it is the default, or of the
/// environment, or of a call. Passwords are not shown.
std::string context_text();

/// Prints it.
void print_context(std::FILE* to = stdout);

#if TENON_DEFINES
namespace detail {
[[gnu::cold]] inline std::string table_line(std::string_view key, std::string_view value, std::string_view from) {
  constexpr std::size_t key_width = 28, value_width = 15;
  std::string line("  ");
  line += key;
  line.resize(std::max(line.size() + 1, 2 + key_width), ' ');
  line += value.empty() ? std::string_view("''") : value;
  line.resize(std::max(line.size() + 1, 2 + key_width + value_width), ' ');
  return line.append(from) + '\n';
}
[[gnu::cold]] inline std::string kept_lines(const KeptKeys& kept, std::string_view title, std::string_view caller) {
  std::string works, nothing;
  for (int row = 0; row < kept.table.count; ++row) {
    if (!kept.is_set[row]) continue;
    const ContextKey key = kept.table[row];
    const std::string_view name = key.name;
    (key.tool != Tool::none && is_here(key.tool) ? works : nothing) +=
        table_line(name, name.ends_with("password") ? "***" : kept.value[row], caller);
  }
  if (!works.empty()) works = text(title, "\n", works);
  if (nothing.empty()) return works;
  return text(works, title, " (does nothing: several processes train with dist::DataParallel)\n", nothing);
}
[[gnu::cold]] inline std::string origin_of(int row, const ContextKey& key) {
  const Context& c = get_context();
  if (c.by_call >> row & 1) return "set_context";
  if (!(c.by_environment >> row & 1)) return "default";
  for (const auto& [variable, name] : context_variables)
    if (std::string_view(name) == key.name) return text("environment, ", variable);
  return "environment";
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE std::string context_text() {
  std::string works("Context\n"), kept, always;
  for (int row = 0; row < detail::KeyTable(detail::packed_context_keys).count; ++row) {
    const detail::ContextKey key = detail::context_key(row);
    const std::string line =
        detail::table_line(key.name, detail::context_value(get_context(), key), detail::origin_of(row, key));
    if (key.effect == detail::KeyEffect::works && detail::is_here(key.tool)) works += line;
    else if (key.effect <= detail::KeyEffect::kept && !line.ends_with(" default\n")) kept += line;
    else if (key.effect == detail::KeyEffect::always) always += detail::table_line(key.name, key.usual, "always");
  }
  if (!kept.empty()) kept = text("Context (does nothing in this program)\n", kept);
  return text(works, always, kept,
              detail::kept_lines(detail::kept_parallel_keys(), "Auto parallel context", "set_auto_parallel_context"),
              detail::kept_lines(detail::kept_ps_keys(), "Parameter server context", "set_ps_context"));
}
TENON_INLINE void print_context(std::FILE* to) {
  std::fputs(context_text().c_str(), to);
  std::fflush(to);
}
#endif  // TENON_DEFINES

}  // namespace tenon
