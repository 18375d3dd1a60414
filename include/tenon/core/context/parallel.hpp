// set_auto_parallel_context and set_ps_context: the settings of trainings in several processes.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context/key.hpp>

namespace tenon::inline TENON_ABI {

/// Sets a key of MindSpore's context of the same name: `set_auto_parallel_context("parallel_mode", "data_parallel")`.
/// Values are checked and kept. A Model with dist::DataParallel among its parts shares its training, whatever this
/// says; it reads parallel_mode, device_num, global_rank, parameter_broadcast, and enable_parallel_optimizer
/// (docs/distributed.md). Of what has no effect a warning says so, unless it is the default. Throws TypeError for a
/// text that is no int, bool, list, or dict where one is needed, ValueError for an unknown key or a value that is not
/// legal, with those that are.
void set_auto_parallel_context(std::string_view key, const std::string& value);
/// What was set, or the default. Throws ValueError for an unknown key.
std::string get_auto_parallel_context(const std::string& key);
/// Restores all defaults.
void reset_auto_parallel_context();

/// The same for parameter servers: `set_ps_context("enable_ps", "True")` comes before dist::init_parameter_server.
void set_ps_context(const std::string& key, const std::string& value);
std::string get_ps_context(const std::string& key);
void reset_ps_context();

namespace detail {
inline constexpr const char* one_process = "several processes train with dist::DataParallel";
inline constexpr const char* compiled_buckets = "dist::DataParallel plans its messages at compile time";
inline constexpr const char* on_servers = "dist::ParameterServer reads MS_ROLE and other variables";
inline constexpr ContextKey parallel_keys[]{
    {"device_num", KeyKind::whole, KeyEffect::kept, "1", "1 .. 4096", "", one_process, Tool::data_parallel},
    {"global_rank", KeyKind::whole, KeyEffect::kept, "0", "0 .. 4095", "", one_process, Tool::data_parallel},
    {"gradients_mean", KeyKind::flag, KeyEffect::kept, "False", "", "", one_process, Tool::data_parallel},
    {"gradient_fp32_sync", KeyKind::flag, KeyEffect::kept, "True", "", "", one_process},
    {"loss_repeated_mean", KeyKind::flag, KeyEffect::kept, "True", "", "", one_process},
    {"parallel_mode", KeyKind::choice, KeyEffect::kept, "stand_alone",
     "stand_alone data_parallel hybrid_parallel semi_auto_parallel auto_parallel", "", one_process,
     Tool::data_parallel},
    {"auto_parallel_search_mode", KeyKind::choice, KeyEffect::kept, "dynamic_programming",
     "dynamic_programming recursive_programming sharding_propagation", "", one_process},
    {"search_mode", KeyKind::choice, KeyEffect::kept, "recursive_programming",
     "dynamic_programming recursive_programming sharding_propagation", "", one_process},
    {"parameter_broadcast", KeyKind::flag, KeyEffect::kept, "False", "", "", one_process, Tool::data_parallel},
    {"strategy_ckpt_load_file", KeyKind::text, KeyEffect::kept, "", "", "", one_process},
    {"strategy_ckpt_save_file", KeyKind::text, KeyEffect::kept, "", "", "", one_process},
    {"strategy_ckpt_config", KeyKind::object, KeyEffect::kept, "{}", "", "", one_process},
    {"full_batch", KeyKind::flag, KeyEffect::kept, "False", "", "", one_process},
    {"dataset_strategy", KeyKind::text, KeyEffect::kept, "data_parallel", "", "", one_process},
    {"enable_parallel_optimizer", KeyKind::flag, KeyEffect::kept, "False", "", "", one_process, Tool::data_parallel},
    {"parallel_optimizer_config", KeyKind::object, KeyEffect::kept, "{}", "", "", one_process},
    {"all_reduce_fusion_config", KeyKind::indices, KeyEffect::kept, "[]", "", "", compiled_buckets},
    {"comm_fusion", KeyKind::object, KeyEffect::kept, "{}", "", "", compiled_buckets},
    {"enable_alltoall", KeyKind::flag, KeyEffect::kept, "False", "", "", one_process},
    {"pipeline_stages", KeyKind::whole, KeyEffect::kept, "1", "1 .. 4096", "", one_process},
    {"grad_accumulation_step", KeyKind::whole, KeyEffect::kept, "1", "1 .. 2147483647", "", one_process},
};
inline constexpr ContextKey ps_keys[]{
    {"enable_ps", KeyKind::flag, KeyEffect::kept, "False", "", "", on_servers, Tool::parameter_server},
    {"config_file_path", KeyKind::text, KeyEffect::kept, "", "", "", on_servers},
    {"scheduler_manage_port", KeyKind::whole, KeyEffect::kept, "11202", "1 .. 65535", "", on_servers},
    {"enable_ssl", KeyKind::flag, KeyEffect::kept, "False", "", "", on_servers},
    {"client_password", KeyKind::text, KeyEffect::kept, "", "", "", on_servers},
    {"server_password", KeyKind::text, KeyEffect::kept, "", "", "", on_servers},
};

inline constexpr PackedKeys<std::size(parallel_keys), texts_size(parallel_keys)> packed_parallel_keys(parallel_keys);
inline constexpr PackedKeys<std::size(ps_keys), texts_size(ps_keys)> packed_ps_keys(ps_keys);

/// What was set of a table, by row.
struct KeptKeys {
  static constexpr std::size_t most = std::size(parallel_keys);
  KeyTable table;
  std::string value[most]{};
  bool is_set[most]{};
};
KeptKeys& kept_parallel_keys();
KeptKeys& kept_ps_keys();
/// What was set of a key, or null if it has its default. Null itself in a program that has set nothing, so that a
/// training can ask without the tables.
using ChangedKey = const std::string* (*)(std::string_view name);
inline constinit ChangedKey changed_parallel_key = nullptr;

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE KeptKeys& kept_parallel_keys() {
  static KeptKeys kept{packed_parallel_keys};
  return kept;
}
[[gnu::noinline]] TENON_INLINE KeptKeys& kept_ps_keys() {
  static_assert(std::size(ps_keys) <= KeptKeys::most);
  static KeptKeys kept{packed_ps_keys};
  return kept;
}

/// Refuses what is no list in brackets, of ascending numbers. Here: other tables have no such key.
[[gnu::cold]] inline void check_index_list(const ContextKey& key, std::string_view value) {
  if (!value.starts_with('[') || !value.ends_with(']')) refuse_type(key, "list ([2, 5])", value);
  std::string list(value.substr(1, value.size() - 2));
  for (char& c : list)
    if (c == ',') c = ' ';
  int before = -1, count = 0;
  for (const std::string& index : words(list)) {
    if (index.empty()) continue;
    if (index.find_first_not_of("0123456789") != index.npos) refuse_type(key, "list of int", value);
    if (std::atoi(index.c_str()) <= before) refuse_value(key, "a list of ascending numbers", value);
    before = std::atoi(index.c_str());
    ++count;
  }
  if (count == 0) refuse_value(key, "a list of at least one number", value);
}

/// MindSpore's text for what has one of its own.
[[gnu::cold]] inline void check_parallel_mode(const ContextKey& key, const std::string& value) {
  if (std::string_view(key.name) == "parallel_mode" && !is_among(key.legal, value))
    throw_error<ValueError>("Parallel mode does not support '", value, "', legal are ", quoted_list(words(key.legal)),
                            ".", did_you_mean(value, words(key.legal)));
}

[[gnu::cold, gnu::noinline]] inline void keep(KeptKeys& kept, std::string_view what, std::string_view name,
                                              const std::string& value) {
  const int row = kept.table.find(what, name);
  const ContextKey key = kept.table[row];
  check_parallel_mode(key, value);
  if (key.kind == KeyKind::indices) check_index_list(key, value);
  const std::string checked = checked_value(key, value);
  is_ignored(key, "CPU", value);  // for its warning
  kept.value[row] = checked;
  kept.is_set[row] = true;
}
[[gnu::cold, gnu::noinline]] inline std::string kept_value(const KeptKeys& kept, std::string_view what,
                                                           const std::string& name) {
  const int row = kept.table.find(what, name);
  return kept.is_set[row] ? kept.value[row] : kept.table[row].usual;
}
[[gnu::cold, gnu::noinline]] inline const std::string* find_changed(std::string_view name) {
  const KeptKeys& kept = kept_parallel_keys();
  const int row = kept.table.find("Get auto parallel", std::string(name));
  return kept.is_set[row] && kept.value[row] != kept.table[row].usual ? &kept.value[row] : nullptr;
}
#endif  // TENON_DEFINES
}  // namespace detail

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void set_auto_parallel_context(std::string_view key, const std::string& value) {
  detail::keep(detail::kept_parallel_keys(), "Set auto parallel", key, value);
  detail::changed_parallel_key = detail::find_changed;
}
[[gnu::noinline]] TENON_INLINE std::string get_auto_parallel_context(const std::string& key) {
  return detail::kept_value(detail::kept_parallel_keys(), "Get auto parallel", key);
}
[[gnu::noinline]] TENON_INLINE void reset_auto_parallel_context() {
  detail::kept_parallel_keys() = detail::KeptKeys{detail::packed_parallel_keys};
  detail::changed_parallel_key = nullptr;
}

[[gnu::noinline]] TENON_INLINE void set_ps_context(const std::string& key, const std::string& value) {
  detail::keep(detail::kept_ps_keys(), "Set PS", key, value);
}
[[gnu::noinline]] TENON_INLINE std::string get_ps_context(const std::string& key) {
  return detail::kept_value(detail::kept_ps_keys(), "Get PS", key);
}
[[gnu::noinline]] TENON_INLINE void reset_ps_context() {
  detail::kept_ps_keys() = detail::KeptKeys{detail::packed_ps_keys};
}
#endif  // TENON_DEFINES

}  // namespace tenon
