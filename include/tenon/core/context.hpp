// The process-wide settings: reading and changing them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/context/values.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/target.hpp>
#include <tenon/core/thread/parallel.hpp>
#if TENON_DEFINES
#include <cstdlib>
#include <cstring>
#include <utility>

#include <tenon/core/context/keys.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/core/memory/memory_limit.hpp>
#endif

namespace tenon::inline TENON_ABI {

namespace detail {
/// A value, or that none was given. (std::optional would cost every program more time to compile.)
template <class T>
struct Asked {
  T value{};
  bool is_there = false;
  constexpr Asked() = default;
  constexpr Asked(T asked) : value(asked), is_there(true) {}
};
/// The same of texts, which are not kept.
struct AskedText : Asked<std::string_view> {
  constexpr AskedText() = default;
  constexpr AskedText(const char* asked) : Asked(std::string_view(asked)) {}
  constexpr AskedText(std::string_view asked) : Asked(asked) {}
  AskedText(const std::string& asked) : Asked(std::string_view(asked)) {}
};
/// The same of save_graphs: 0 .. 3, or true for 2.
struct AskedLevel : Asked<int> {
  constexpr AskedLevel() = default;
  constexpr AskedLevel(int asked) : Asked(asked) {}
  constexpr AskedLevel(bool asked) : Asked(asked ? 2 : 0) {}
};
}  // namespace detail

/// What to change; a member that is not named keeps its value: `set_context({.mode = Mode::pynative, .num_threads =
/// 2})`.
struct ContextChange {
  detail::Asked<Mode> mode{};
  detail::AskedText device_target{};
  detail::Asked<int> device_id{};
  detail::Asked<Math> math{};
  detail::Asked<int> num_threads{};
  detail::Asked<std::uint64_t> seed{};
  detail::AskedText max_device_memory{};  // "2GB"
  detail::AskedLevel save_graphs{};       // 0 .. 3, or true for 2
  detail::AskedText save_graphs_path{};
  detail::Asked<bool> reserve_class_name_in_scope{};
  detail::Asked<bool> enable_dump{};
  detail::AskedText save_dump_path{};
  detail::AskedText print_file_path{};
  detail::Asked<bool> enable_profiling{};
  detail::AskedText profiling_options{};
};

namespace detail {
Context& process_context();
/// Whether set_context or the environment has chosen this setting. Throws ValueError for an unknown name.
bool context_is_chosen(const char* key);
}  // namespace detail

/// The current settings.
inline const Context& get_context() { return detail::process_context(); }

/// One setting by its MindSpore name, as text that set_context takes: `get_context("mode")` is "graph" or "pynative".
/// Throws ValueError for an unknown name.
std::string get_context(const std::string& key);

/// Changes settings, for all threads: not while others compute. Nothing changes if one value is illegal.
/// Throws ValueError that names the legal values (MindSpore behaves alike).
void set_context(const ContextChange& change);

/// Sets one value by its MindSpore name, as a configuration file would: `set_context("mode", "graph")`. Every key of
/// MindSpore is known (docs/context.md). What belongs to another device is ignored with a warning, as there; what has
/// no meaning here, too. Numbers, "True" and "False" or "1" and "0" are texts. Throws TypeError for a text that is no
/// such thing, ValueError for an unknown name or a value that is not legal, with those that are.
///
/// Where we depart: a setting may be changed as often as you like; MindSpore refuses a second device_id or
/// max_device_memory.
void set_context(const std::string& key, const std::string& value);

/// Changes settings until the end of the scope; for tests and for callbacks.
class ContextScope {
 public:
  explicit ContextScope(const ContextChange& change);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Context before_;
};

namespace detail {
/// Lets this thread compute on a target, whatever the context says, until the end of the scope: the steps of a Model.
class TargetScope {
 public:
  explicit TargetScope(TargetId target) : before_(chosen()) { chosen() = &(target_ = target); }
  ~TargetScope() { chosen() = before_; }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

  static TargetId current() { return chosen() ? *chosen() : get_context().target(); }

 private:
  static const TargetId*& chosen() {
    thread_local const TargetId* target = nullptr;
    return target;
  }
  TargetId target_;
  const TargetId* before_;
};
/// In a program with one target nothing is to be restored.
struct NoTargetScope {
  explicit NoTargetScope(TargetId) {}
};
using StepTarget = std::conditional_t<several_targets, TargetScope, NoTargetScope>;

/// Whether this thread computes on another target than the CPU.
inline bool computes_there() {
  if constexpr (several_targets) return TargetScope::current() != TargetId::cpu;
  else return false;
}
}  // namespace detail

#if TENON_DEFINES
namespace detail {
[[gnu::cold, gnu::noinline]] inline int context_row(std::string_view what, std::string_view name) {
  return KeyTable(packed_context_keys).find(what, name);
}
[[gnu::cold, gnu::noinline]] inline ContextKey context_key(int row) { return KeyTable(packed_context_keys)[row]; }

/// Where a Context has the value of a key; nothing for fixed ones.
struct ContextPlace {
  int* whole = nullptr;
  bool* flag = nullptr;
  std::string* text = nullptr;
};
[[gnu::cold, gnu::noinline]] inline ContextPlace place_in(Context& c, const char* key) {
  const auto is = [&](const char* name) { return std::strcmp(key, name) == 0; };
  if (is("device_target")) return {.text = &c.device_target};
  if (is("device_id")) return {.whole = &c.device_id};
  if (is("num_threads")) return {.whole = &c.num_threads};
  if (is("max_device_memory")) return {.text = &c.max_device_memory};
  if (is("save_graphs")) return {.whole = &c.save_graphs};
  if (is("save_graphs_path")) return {.text = &c.save_graphs_path};
  if (is("reserve_class_name_in_scope")) return {.flag = &c.reserve_class_name_in_scope};
  if (is("enable_dump")) return {.flag = &c.enable_dump};
  if (is("save_dump_path")) return {.text = &c.save_dump_path};
  if (is("print_file_path")) return {.text = &c.print_file_path};
  if (is("enable_profiling")) return {.flag = &c.enable_profiling};
  if (is("profiling_options")) return {.text = &c.profiling_options};
  return {};
}

[[gnu::cold, gnu::noinline]] inline std::string context_value(Context c, const ContextKey& key) {
  const ContextPlace place = place_in(c, key.name);
  if (place.whole) return std::to_string(*place.whole);
  if (place.flag) return *place.flag ? "True" : "False";
  if (place.text) return *place.text;
  if (key.kind == KeyKind::mode) return std::string(name(c.mode));
  return key.effect == KeyEffect::works ? std::to_string(c.seed) : key.usual;
}

[[gnu::cold, gnu::noinline]] inline void put(Context& c, std::string_view name, std::string_view asked) {
  const int row = context_row("Set", name);
  const ContextKey key = context_key(row);
  if (is_ignored(key, c.device_target, asked)) return;
  const std::string value = checked_value(key, asked);
  const ContextPlace place = place_in(c, key.name);
  c.by_call |= std::uint64_t{1} << row;
  if (place.whole) *place.whole = std::atoi(value.c_str());
  else if (place.flag) *place.flag = value[0] == 'T';
  else if (place.text) *place.text = value;
  else if (key.kind == KeyKind::mode) c.mode = value[0] == 'g' ? Mode::graph : Mode::pynative;
  else {
    static std::uint64_t seeds_set = 0;
    c.seed = std::strtoull(value.c_str(), nullptr, 10);
    c.seeds_set = ++seeds_set;
  }
}

/// A tool that cannot do what was set says so; the setting, and the others, stay.
[[gnu::cold, gnu::noinline]] inline void tell_tools() noexcept {
  for (const ToolListener changed : tool_listeners())
    if (changed) try {
        changed();
      } catch (const std::exception& e) {
        logging::warning(e.what());
      }
}
[[gnu::cold, gnu::noinline]] inline void take_over(const Context& c) {
  process_context() = c;
  ThreadPool::instance().set_threads(c.num_threads);
  const double limit = bytes_of_gigabytes(c.max_device_memory);
  memory_limit() = limit < 1024. * (1 << 30) ? static_cast<long>(limit) : no_memory_limit;
  tell_tools();
}
/// On the CPU any number is kept, for the names of files.
[[gnu::cold, gnu::noinline]] inline void check_device(const Context& c) {
  const TargetId target = target_named(c.device_target);
  if (target == TargetId::cpu) return;
  if (const int devices = device_count(target); c.device_id >= devices)
    throw_error<ValueError>("Argument device_id must be in 0 .. ", devices - 1, " for ", c.device_target,
                            ", which has ", devices, devices == 1 ? " device" : " devices", " here, got ", c.device_id,
                            c.by_environment >> context_row("Get", "device_id") & 1 ? ", which DEVICE_ID says." : ".");
#if defined(TENON_TARGET)
  if (c.math != Math::exact)
    with_target(c.target(), [&]<class Target>(std::type_identity<Target>) {
      if constexpr (requires { Target::check_math(c.math); }) Target::check_math(c.math);
    });
#endif
}
// What users call is not cold: what leads to a cold call would be, too.
[[gnu::noinline]] inline void commit(const Context& c) { take_over(c); }

/// Variables of the environment, and the keys that they are for.
inline constexpr char context_variables[][2][24]{{"DEVICE_ID", "device_id"},
                                                 {"PROFILING_MODE", "enable_profiling"},
                                                 {"PROFILING_OPTIONS", "profiling_options"},
                                                 {"MS_DEV_SAVE_GRAPHS", "save_graphs"},
                                                 {"MS_DEV_SAVE_GRAPHS_PATH", "save_graphs_path"}};

/// What the environment says; what it says wrong is told and left.
[[gnu::cold]] inline Context context_of_environment() {
  Context c;
  for (const auto& [variable, name] : context_variables)
    if (const char* value = std::getenv(variable)) try {
        put(c, name, value);
      } catch (const Error& e) {
        logging::warning(text("The variable ", variable, " is ignored: ", e.what()));
      }
  c.by_environment = std::exchange(c.by_call, 0);
  if (std::getenv("MINDSPORE_DUMP_CONFIG")) warn_of_missing(Tool::dump, "The variable MINDSPORE_DUMP_CONFIG");
  return c;
}
[[gnu::noinline]] TENON_INLINE Context& process_context() {
  static Context context = context_of_environment();
  return context;
}
TENON_INLINE bool context_is_chosen(const char* key) {
  const Context& c = process_context();
  return ((c.by_call | c.by_environment) >> context_row("Get", key) & 1) != 0;
}
}  // namespace detail

TENON_INLINE std::string get_context(const std::string& key) {
  return detail::context_value(get_context(), detail::context_key(detail::context_row("Get", key)));
}
namespace detail {
[[gnu::cold, gnu::noinline]] inline void put_text(Context& c, const char* key, const AskedText& asked) {
  if (asked.is_there) put(c, key, asked.value);
}
[[gnu::cold, gnu::noinline]] inline void put_whole(Context& c, const char* key, const Asked<int>& asked) {
  if (asked.is_there) put(c, key, std::to_string(asked.value));
}
[[gnu::cold, gnu::noinline]] inline void put_flag(Context& c, const char* key, const Asked<bool>& asked) {
  if (asked.is_there) put(c, key, asked.value ? "True" : "False");
}
[[gnu::cold, gnu::noinline]] inline void change_context(const ContextChange& change) {
  Context next = get_context();
  put_text(next, "device_target", change.device_target);
  if (change.mode.is_there) put_whole(next, "mode", int(change.mode.value));
  put_whole(next, "device_id", change.device_id);
  if (change.math.is_there) next.math = change.math.value;
  put_whole(next, "num_threads", change.num_threads);
  if (change.seed.is_there) put(next, "seed", std::to_string(change.seed.value));
  put_text(next, "max_device_memory", change.max_device_memory);
  put_whole(next, "save_graphs", change.save_graphs);
  put_text(next, "save_graphs_path", change.save_graphs_path);
  put_flag(next, "reserve_class_name_in_scope", change.reserve_class_name_in_scope);
  put_flag(next, "enable_dump", change.enable_dump);
  put_text(next, "save_dump_path", change.save_dump_path);
  put_text(next, "print_file_path", change.print_file_path);
  put_flag(next, "enable_profiling", change.enable_profiling);
  put_text(next, "profiling_options", change.profiling_options);
  if constexpr (several_targets) check_device(next);
  commit(next);
}
[[gnu::cold, gnu::noinline]] inline void change_context(const std::string& key, const std::string& value) {
  Context next = get_context();
  put(next, key, value);
  if constexpr (several_targets) check_device(next);
  commit(next);
}
}  // namespace detail
[[gnu::noinline]] TENON_INLINE void set_context(const ContextChange& change) { detail::change_context(change); }
[[gnu::noinline]] TENON_INLINE void set_context(const std::string& key, const std::string& value) {
  detail::change_context(key, value);
}
TENON_INLINE_CONSTRUCTOR ContextScope::ContextScope(const ContextChange& change) : before_(get_context()) {
  set_context(change);
}
TENON_INLINE_CONSTRUCTOR ContextScope::~ContextScope() { detail::commit(before_); }
#endif  // TENON_DEFINES

}  // namespace tenon
