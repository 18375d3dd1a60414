// Settings of trainings in several processes: what each key takes, what is refused, and that they are kept and told to
// do nothing.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include <tenon/core/context/parallel.hpp>
#include <tenon/core/error.hpp>

#include "../../support/printed.hpp"

using namespace tenon;

namespace {
template <class E>
std::string refused(const std::string& key, const std::string& value) {
  try {
    set_auto_parallel_context(key, value);
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}
struct Set {
  const char *key, *value;
};
}  // namespace

TEST_CASE("auto parallel: defaults, values that are kept with a warning, and reset") {
  constexpr Set defaults[]{{"device_num", "1"},
                           {"global_rank", "0"},
                           {"gradients_mean", "False"},
                           {"gradient_fp32_sync", "True"},
                           {"loss_repeated_mean", "True"},
                           {"parallel_mode", "stand_alone"},
                           {"auto_parallel_search_mode", "dynamic_programming"},
                           {"search_mode", "recursive_programming"},
                           {"parameter_broadcast", "False"},
                           {"strategy_ckpt_load_file", ""},
                           {"strategy_ckpt_save_file", ""},
                           {"strategy_ckpt_config", "{}"},
                           {"full_batch", "False"},
                           {"dataset_strategy", "data_parallel"},
                           {"enable_parallel_optimizer", "False"},
                           {"parallel_optimizer_config", "{}"},
                           {"all_reduce_fusion_config", "[]"},
                           {"comm_fusion", "{}"},
                           {"enable_alltoall", "False"},
                           {"pipeline_stages", "1"},
                           {"grad_accumulation_step", "1"}};
  constexpr Set others[]{{"device_num", "8"},
                         {"global_rank", "3"},
                         {"gradients_mean", "True"},
                         {"gradient_fp32_sync", "False"},
                         {"loss_repeated_mean", "False"},
                         {"parallel_mode", "semi_auto_parallel"},
                         {"auto_parallel_search_mode", "recursive_programming"},
                         {"search_mode", "sharding_propagation"},
                         {"parameter_broadcast", "True"},
                         {"strategy_ckpt_load_file", "a"},
                         {"strategy_ckpt_save_file", "b"},
                         {"strategy_ckpt_config", "{'load_file': 'a'}"},
                         {"full_batch", "True"},
                         {"dataset_strategy", "full_batch"},
                         {"enable_parallel_optimizer", "True"},
                         {"parallel_optimizer_config", "{'threshold': 24}"},
                         {"all_reduce_fusion_config", "[2, 5]"},
                         {"comm_fusion", "{'allreduce': {'mode': 'auto'}}"},
                         {"enable_alltoall", "True"},
                         {"pipeline_stages", "4"},
                         {"grad_accumulation_step", "2"}};
  CHECK(std::size(defaults) == std::size(detail::parallel_keys));
  CHECK(std::size(others) == std::size(detail::parallel_keys));
  for (const auto& [key, value] : defaults) {
    CAPTURE(key);
    CHECK(get_auto_parallel_context(key) == value);
    if (std::string(value) == "[]") continue;  // is what nobody can set
    CHECK(support::printed_to(stderr, [key = key, value = value] { set_auto_parallel_context(key, value); }).empty());
  }
  for (const auto& [key, value] : others) {
    CAPTURE(key);
    const bool of_messages = std::string(key).find("_fusion") != std::string::npos;
    CHECK(support::printed_to(stderr, [key = key, value = value] { set_auto_parallel_context(key, value); })
              .ends_with(text("Config '", key, "' is kept and does nothing: ",
                              of_messages ? "dist::DataParallel plans its messages at compile time.\n"
                                          : "several processes train with dist::DataParallel.\n")));
    CHECK(get_auto_parallel_context(key) == value);
  }
  reset_auto_parallel_context();
  for (const auto& [key, value] : defaults) CHECK(get_auto_parallel_context(key) == value);
}

TEST_CASE("auto parallel: what is not legal") {
  CHECK(refused<ValueError>("device_num", "0") == "Argument device_num must be in 1 .. 4096, got '0'.");
  CHECK(refused<ValueError>("device_num", "4097") == "Argument device_num must be in 1 .. 4096, got '4097'.");
  CHECK(refused<ValueError>("global_rank", "4096") == "Argument global_rank must be in 0 .. 4095, got '4096'.");
  CHECK(refused<TypeError>("global_rank", "first") == "Argument global_rank must be int in 0 .. 4095, got 'first'.");
  CHECK(refused<ValueError>("pipeline_stages", "0").starts_with("Argument pipeline_stages must be in 1 .. "));
  CHECK(refused<ValueError>("grad_accumulation_step", "0").starts_with("Argument grad_accumulation_step must be in 1"));
  CHECK(refused<TypeError>("full_batch", "both") ==
        "Argument full_batch must be bool (True, true, 1, False, false, or 0), got 'both'.");
  CHECK(refused<ValueError>("parallel_mode", "dataparallel") ==
        "Parallel mode does not support 'dataparallel', legal are 'stand_alone', 'data_parallel', 'hybrid_parallel', "
        "'semi_auto_parallel', 'auto_parallel'. Did you mean 'data_parallel'?");
  CHECK(refused<ValueError>("search_mode", "random")
            .starts_with("Argument search_mode must be one of 'dynamic_programming', "));
  CHECK(refused<TypeError>("comm_fusion", "auto") == "Argument comm_fusion must be dict ({...}), got 'auto'.");
  const std::string fusion = "all_reduce_fusion_config";
  CHECK(refused<TypeError>(fusion, "3") == "Argument all_reduce_fusion_config must be list ([2, 5]), got '3'.");
  CHECK(refused<TypeError>(fusion, "[a]") == "Argument all_reduce_fusion_config must be list of int, got '[a]'.");
  CHECK(refused<TypeError>(fusion, "[1.5]") == "Argument all_reduce_fusion_config must be list of int, got '[1.5]'.");
  for (const std::string empty : {"[]", "[ ]"})
    CHECK(refused<ValueError>(fusion, empty) ==
          "Argument all_reduce_fusion_config must be a list of at least one number, got '" + empty + "'.");
  for (const std::string bad : {"[5, 2]", "[2, 2]"})
    CHECK(refused<ValueError>(fusion, bad) ==
          "Argument all_reduce_fusion_config must be a list of ascending numbers, got '" + bad + "'.");
  CHECK(refused<ValueError>("device_nums", "1")
            .starts_with("Set auto parallel context keyword device_nums is not recognized! Did you mean 'device_num'? "
                         "Legal are "));
  CHECK_THROWS_AS(static_cast<void>(get_auto_parallel_context("mode")), ValueError);
  for (const detail::ContextKey& key : detail::parallel_keys) CHECK(get_auto_parallel_context(key.name) == key.usual);
}

TEST_CASE("parameter servers: the same") {
  constexpr Set all[]{{"enable_ps", "True"},  {"config_file_path", "x"}, {"scheduler_manage_port", "1"},
                      {"enable_ssl", "True"}, {"client_password", "x"},  {"server_password", "x"}};
  CHECK(std::size(all) == std::size(detail::ps_keys));
  CHECK(get_ps_context("scheduler_manage_port") == "11202");
  for (const auto& [key, value] : all) {
    CAPTURE(key);
    CHECK(support::printed_to(stderr, [key = key, value = value] { set_ps_context(key, value); })
              .ends_with(text("Config '", key,
                              "' is kept and does nothing: dist::ParameterServer reads MS_ROLE and other "
                              "variables.\n")));
    CHECK(get_ps_context(key) == value);
  }
  CHECK_THROWS_WITH_AS(set_ps_context("scheduler_manage_port", "65536"),
                       "Argument scheduler_manage_port must be in 1 .. 65535, got '65536'.", ValueError);
  CHECK_THROWS_WITH_AS(set_ps_context("enable", "True"),
                       "Set PS context keyword enable is not recognized! Legal are 'enable_ps', 'config_file_path', "
                       "'scheduler_manage_port', 'enable_ssl', 'client_password', 'server_password'.",
                       ValueError);
  reset_ps_context();
  for (const detail::ContextKey& key : detail::ps_keys) CHECK(get_ps_context(key.name) == key.usual);
}
