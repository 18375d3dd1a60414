// The few process-wide settings, with the names that MindSpore gives them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/parallel.hpp>
#include <tenon/core/target.hpp>
#if TENON_DEFINES
#include <charconv>
#include <thread>
#endif

namespace tenon::inline TENON_ABI {

/// How a Model step, or the outermost call of a cell, runs. A bare operator is always eager.
enum class Mode { graph, pynative };

constexpr std::string_view name(Mode mode) { return mode == Mode::graph ? "graph" : "pynative"; }

namespace detail {
/// The threads that run at once, 1 if that is not known.
int processors();
}  // namespace detail

/// The settings. A Model captures `mode` and `seed` when it is made.
struct Context {
  Mode mode = Mode::graph;
  std::string device_target = "CPU";
  int device_id = 0;
  int num_threads = detail::processors();
  std::uint64_t seed = 0;

  /// The target of that name.
  TargetId target() const {
    return several_targets && device_target == OtherTarget::name ? TargetId::other : TargetId::cpu;
  }
};

/// What to change; a member that is not named keeps its value: `set_context({.mode = Mode::pynative, .num_threads =
/// 2})`.
struct ContextChange {
  std::optional<Mode> mode{};
  std::optional<std::string_view> device_target{};
  std::optional<int> device_id{};
  std::optional<int> num_threads{};
  std::optional<std::uint64_t> seed{};
};

namespace detail {
Context& process_context();
}  // namespace detail

/// The current settings.
inline const Context& get_context() { return detail::process_context(); }

/// One setting by its MindSpore name, as text that set_context takes: `get_context("mode")` is "graph" or "pynative".
/// Throws ValueError for an unknown name.
std::string get_context(const std::string& key);

/// Changes settings, for all threads: not while others compute. Nothing changes if one value is illegal.
/// Throws ValueError that names the legal values (MindSpore 1.x behaves alike).
void set_context(const ContextChange& change);

/// Sets one value by its MindSpore name, as a configuration file would: `set_context("mode", "graph")`.
/// Throws ValueError that quotes an unknown name or value and says what is legal.
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

/// Whether this thread computes on the second target.
inline bool computes_there() {
  if constexpr (several_targets) return TargetScope::current() == TargetId::other;
  else return false;
}
}  // namespace detail

#if TENON_DEFINES
namespace detail {
TENON_INLINE int processors() {
  return int(std::thread::hardware_concurrency() ? std::thread::hardware_concurrency() : 1);
}
inline constexpr int last_device_id = 4095, most_threads = 1024;

[[noreturn, gnu::cold]] inline void throw_unknown_context_key(std::string_view function, const std::string& key) {
  const std::vector<std::string> keys = words("mode device_target device_id num_threads seed");
  throw_error<ValueError>(function, ": unknown key '", key, "', legal are ", quoted_list(keys), ".",
                          did_you_mean(key, keys));
}
[[gnu::cold, gnu::noinline]] inline std::uint64_t context_number(const std::string& key, const std::string& value,
                                                                 std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    throw_error<ValueError>("set_context: ", key, " must be an integer in ", least, " .. ", most, ", got '", value,
                            "'.");
  return number;
}

[[gnu::cold]] inline ContextChange context_change(const std::string& key, const std::string& value) {
  const auto number = [&](std::uint64_t least, std::uint64_t most) { return context_number(key, value, least, most); };
  if (key == "mode") {
    if (value == "graph" || value == "0") return {.mode = Mode::graph};
    if (value == "pynative" || value == "1") return {.mode = Mode::pynative};
    throw_error<ValueError>("set_context: unknown mode '", value, "', legal are 'graph' and 'pynative'.");
  }
  if (key == "device_target") return {.device_target = value};
  if (key == "device_id") return {.device_id = int(number(0, last_device_id))};
  if (key == "num_threads") return {.num_threads = int(number(1, most_threads))};
  if (key == "seed") return {.seed = number(0, ~std::uint64_t{0})};
  throw_unknown_context_key("set_context", key);
}

[[gnu::cold]] inline void check_device_target(std::string_view target) {
  if (target == Cpu::name || target == OtherTarget::name) return;
  if (target == "Ascend")
    throw_error<ValueError>(
        "set_context: device_target 'Ascend' needs Huawei's CANN toolkit, for which Tenon has no backend: use 'CPU'.");
  if (target == "GPU") {
#if !defined(__CUDACC__)
    throw_error<ValueError>("set_context: device_target 'GPU' needs a program compiled by nvcc (CUDA 13 or newer), "
                            "this one was compiled without it: use 'CPU'.");
#else
    throw_error<ValueError>("set_context: device_target 'GPU' needs Tenon's CUDA executor, which this version does not "
                            "have (kernels compile, steps run on the CPU): use 'CPU'.");
#endif
  }
  std::vector<std::string> known = words("CPU GPU Ascend");
  if (several_targets) known.emplace_back(OtherTarget::name);
  const std::string hint = did_you_mean(target, known);
  throw_error<ValueError>(
      "set_context: unknown device_target '", target, "', legal are ", quoted_list(known), ".",
      hint.empty() ? " A target of kernel/<folder>/ is compiled in by -DTENON_TARGET=<folder>." : hint);
}
[[gnu::noinline]] TENON_INLINE Context& process_context() {
  static Context context;
  return context;
}
}  // namespace detail

TENON_INLINE std::string get_context(const std::string& key) {
  const Context& context = get_context();
  if (key == "mode") return std::string(name(context.mode));
  if (key == "device_target") return context.device_target;
  if (key == "device_id") return text(context.device_id);
  if (key == "num_threads") return text(context.num_threads);
  if (key == "seed") return text(context.seed);
  detail::throw_unknown_context_key("get_context", key);
}
TENON_INLINE void set_context(const ContextChange& change) {
  Context& context = detail::process_context();
  if (change.mode && *change.mode != Mode::graph && *change.mode != Mode::pynative)
    throw_error<ValueError>("set_context: unknown mode ", int(*change.mode),
                            ", legal are Mode::graph (0) and Mode::pynative (1).");
  if (change.device_target) detail::check_device_target(*change.device_target);
  if (change.device_id && (*change.device_id < 0 || *change.device_id > detail::last_device_id))
    throw_error<ValueError>("set_context: device_id must be in 0 .. ", detail::last_device_id, ", got ",
                            *change.device_id, ".");
  if (change.num_threads && (*change.num_threads < 1 || *change.num_threads > detail::most_threads))
    throw_error<ValueError>("set_context: num_threads must be in 1 .. ", detail::most_threads, ", got ",
                            *change.num_threads, ".");
  if (change.mode) context.mode = *change.mode;
  if (change.device_target) context.device_target = *change.device_target;
  if (change.device_id) context.device_id = *change.device_id;
  if (change.num_threads) ThreadPool::instance().set_threads(context.num_threads = *change.num_threads);
  if (change.seed) context.seed = *change.seed;
}
[[gnu::noinline]] TENON_INLINE void set_context(const std::string& key, const std::string& value) {
  set_context(detail::context_change(key, value));
}
TENON_INLINE_CONSTRUCTOR ContextScope::ContextScope(const ContextChange& change) : before_(get_context()) {
  set_context(change);
}
TENON_INLINE_CONSTRUCTOR ContextScope::~ContextScope() {
  detail::process_context() = before_;
  ThreadPool::instance().set_threads(before_.num_threads);
}
#endif  // TENON_DEFINES

}  // namespace tenon
