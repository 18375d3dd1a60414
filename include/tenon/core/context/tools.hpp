// The tools that a program can have beside Tenon itself, each in a header of its own, and which of them this one has.
#pragma once
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Switched on by a setting or a variable of the environment. <tenon/debug/debug.hpp> has all of them but the last two.
enum class Tool : unsigned char { none, dump, profiler, saved_graphs, print_file, data_parallel, parameter_server };
inline constexpr int tool_kinds = 7;

/// Bit k: Tool(k) is in the program. Its header says so before main():
/// `inline const HasTool has_dump(Tool::dump);`
inline std::uint32_t& tools_here() {
  static constinit std::uint32_t bits = 0;
  return bits;
}
/// What tool k does when settings have changed, null for nothing.
using ToolListener = void (*)();
inline ToolListener (&tool_listeners())[tool_kinds] {
  static constinit ToolListener all[tool_kinds]{};
  return all;
}
inline bool is_here(Tool tool) { return tool == Tool::none || tools_here() >> int(tool) & 1; }
struct HasTool {
  /// `changed` is called when settings have changed, before the call that did it returns.
  explicit HasTool(Tool tool, ToolListener changed = nullptr) {
    tools_here() |= std::uint32_t{1} << int(tool);
    tool_listeners()[int(tool)] = changed;
  }
};

}  // namespace tenon::detail
