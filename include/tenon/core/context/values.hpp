// Context: the process-wide settings, with the names that MindSpore gives them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/context/math.hpp>
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// How a Model step, or the outermost call of a cell, runs. A bare operator is always eager.
enum class Mode { graph, pynative };

constexpr std::string_view name(Mode mode) { return mode == Mode::graph ? "graph" : "pynative"; }

namespace detail {
/// The threads that run at once, 1 if that is not known.
int processors();
}  // namespace detail

/// The settings. A Model captures `mode` and `seed` when it is made. docs/context.md says what each of them does.
struct Context {
  Mode mode = Mode::graph;
  Math math = Math::exact;
  std::string device_target = "CPU";
  int device_id = 0;
  int num_threads = detail::processors();
  std::uint64_t seed = 0;
  std::string max_device_memory = "1024GB";
  int save_graphs = 0;
  std::string save_graphs_path = ".";
  bool reserve_class_name_in_scope = true;
  bool enable_dump = false;
  std::string save_dump_path = ".";
  std::string print_file_path{};
  bool enable_profiling = false;
  std::string profiling_options = "training_trace";

  /// The target of that name, and its device.
  TargetId target() const {
    const TargetId named = target_named(device_target);
    return named == TargetId::cpu ? named : on_device(named, device_id);
  }

  Context() = default;
  // not inlined where settings change: seven texts each
  [[gnu::cold]] Context(const Context& other);
  [[gnu::cold]] Context& operator=(const Context& other);

  // Who has set the keys, for print_context(): bit k is row k of the table of core/context/keys.hpp.
  std::uint64_t by_call = 0, by_environment = 0;
  std::uint64_t seeds_set = 0;  // by set_context in this process, when `seed` was set
};

#if TENON_DEFINES
TENON_INLINE_CONSTRUCTOR Context::Context(const Context& other) = default;
TENON_INLINE Context& Context::operator=(const Context& other) = default;
#endif  // TENON_DEFINES

}  // namespace tenon
