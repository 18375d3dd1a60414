// print_context: the whole table, with where each value comes from.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <tenon/core/context/print.hpp>

#include "../../support/printed.hpp"

using namespace tenon;

TEST_CASE("print_context: what is in force, and who said so") {
  ::setenv("PROFILING_MODE", "1", 1);  // before the first look at the context
  const std::string shown = support::printed_to(stdout, [] {
    static_cast<void>(support::printed_to(stderr, [] {
      const ContextScope scope({.mode = Mode::pynative, .num_threads = 3, .save_graphs = true});
      set_auto_parallel_context("parallel_mode", "data_parallel");
      set_auto_parallel_context("strategy_ckpt_save_file", "a/rather/long/path");
      set_ps_context("client_password", "secret");
      print_context();
    }));
  });
  CHECK(shown == R"(Context
  mode                        pynative       set_context
  device_target               CPU            default
  num_threads                 3              set_context
  seed                        0              default
  max_device_memory           1024GB         default
  reserve_class_name_in_scope True           default
  deterministic               ON             always
  check_bprop                 True           always
  precompile_only             False          always
  pynative_synchronize        True           always
  memory_optimize_level       O1             always
Context (does nothing in this program)
  save_graphs                 2              set_context
  enable_profiling            True           environment, PROFILING_MODE
Auto parallel context (does nothing: several processes train with dist::DataParallel)
  parallel_mode               data_parallel  set_auto_parallel_context
  strategy_ckpt_save_file     a/rather/long/path set_auto_parallel_context
Parameter server context (does nothing: several processes train with dist::DataParallel)
  client_password             ***            set_ps_context
)");
  reset_auto_parallel_context();
  reset_ps_context();
  const std::string later = context_text();
  CHECK(later.starts_with("Context\n  mode                        graph          default\n"));
  CHECK(later.find("parallel") == later.npos);
  // in a program with dist::DataParallel
  const detail::HasTool has_data_parallel(detail::Tool::data_parallel);
  set_auto_parallel_context("parallel_mode", "data_parallel");
  set_auto_parallel_context("comm_fusion", "{'allreduce': 1}");
  CHECK(context_text().ends_with(
      R"(
Auto parallel context
  parallel_mode               data_parallel  set_auto_parallel_context
Auto parallel context (does nothing: several processes train with dist::DataParallel)
  comm_fusion                 {'allreduce': 1} set_auto_parallel_context
)"));
  reset_auto_parallel_context();
}
