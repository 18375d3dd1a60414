// Settings: what is legal, what is refused and how, and scopes that restore them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

#include <tenon/core/context.hpp>

using namespace tenon;

TEST_CASE("a change names members, the others stay") {
  const ContextScope scope({.mode = Mode::pynative, .num_threads = 3, .seed = 7});
  CHECK(get_context().mode == Mode::pynative);
  CHECK(ThreadPool::instance().threads() == 3);
  set_context({.device_id = 2});
  CHECK(get_context().mode == Mode::pynative);
  CHECK(get_context().seed == 7);
  CHECK(get_context().device_id == 2);
}

TEST_CASE("a scope restores all settings, the pool's threads too") {
  const Context before = get_context();
  {
    const ContextScope scope({.mode = Mode::pynative, .num_threads = 5, .seed = 99});
    set_context({.device_id = 3});
  }
  CHECK(get_context().mode == before.mode);
  CHECK(get_context().seed == before.seed);
  CHECK(get_context().device_id == before.device_id);
  CHECK(ThreadPool::instance().threads() == before.num_threads);
}

TEST_CASE("illegal values are refused with the legal ones, and nothing has changed") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 2});
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode::pynative, .num_threads = 0}), "set_context: num_threads must be in 1 .. 1024, got 0.", ValueError);
  CHECK(get_context().mode == Mode::graph);
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode(7)}), "set_context: unknown mode 7, legal are Mode::graph (0) and Mode::pynative (1).", ValueError);
  CHECK_THROWS_WITH_AS(set_context({.device_id = 4096}), "set_context: device_id must be in 0 .. 4095, got 4096.", ValueError);
  CHECK_THROWS_WITH_AS(set_context({.device_target = "cpu"}), "set_context: unknown device_target 'cpu', legal are 'CPU', 'GPU', 'Ascend'. Did you mean 'CPU'?",
                       ValueError);
  CHECK_THROWS_WITH_AS(set_context({.device_target = "Ascend"}),
                       "set_context: device_target 'Ascend' needs Huawei's CANN toolkit, for which Tenon has no backend: use 'CPU'.", ValueError);
  CHECK_THROWS_AS(set_context({.device_target = "GPU"}), ValueError);
  CHECK(get_context().device_target == "CPU");
}

TEST_CASE("settings by name, as a file gives them") {
  const ContextScope scope({});
  set_context("mode", "pynative");
  CHECK(get_context().mode == Mode::pynative);
  set_context("mode", "0");
  CHECK(get_context().mode == Mode::graph);
  set_context("num_threads", "2");
  CHECK(get_context().num_threads == 2);
  set_context("seed", "12");
  CHECK(get_context().seed == 12);
  set_context("device_target", "CPU");
  set_context("device_id", "1");
  CHECK(get_context().device_id == 1);
  CHECK_THROWS_WITH_AS(set_context("mode", "eager"), "set_context: unknown mode 'eager', legal are 'graph' and 'pynative'.", ValueError);
  CHECK_THROWS_WITH_AS(
      set_context("num_thread", "2"),
      "set_context: unknown key 'num_thread', legal are 'mode', 'device_target', 'device_id', 'num_threads', 'seed'. Did you mean 'num_threads'?", ValueError);
  for (const char* bad : {"", "two", "2x", "99999999999999999999"}) CHECK_THROWS_AS(set_context("num_threads", bad), ValueError);
  CHECK_THROWS_WITH_AS(set_context("num_threads", "4294967298"), "set_context: num_threads must be in 1 .. 1024, got 1048576.", ValueError);
  CHECK_THROWS_AS(set_context("device_id", "-1"), ValueError);
}
