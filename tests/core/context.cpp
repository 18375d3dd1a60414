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
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode::pynative, .num_threads = 0}),
                       "set_context: num_threads must be in 1 .. 1024, got 0.", ValueError);
  CHECK(get_context().mode == Mode::graph);
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode(7)}),
                       "set_context: unknown mode 7, legal are Mode::graph (0) and Mode::pynative (1).", ValueError);
  CHECK_THROWS_WITH_AS(set_context({.device_id = 4096}), "set_context: device_id must be in 0 .. 4095, got 4096.",
                       ValueError);
  CHECK_THROWS_WITH_AS(
      set_context({.device_target = "cpu"}),
      "set_context: unknown device_target 'cpu', legal are 'CPU', 'GPU', 'Ascend'. Did you mean 'CPU'?", ValueError);
  CHECK_THROWS_WITH_AS(
      set_context({.device_target = "Ascend"}),
      "set_context: device_target 'Ascend' needs Huawei's CANN toolkit, for which Tenon has no backend: use 'CPU'.",
      ValueError);
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
  CHECK_THROWS_WITH_AS(set_context("mode", "eager"),
                       "set_context: unknown mode 'eager', legal are 'graph' and 'pynative'.", ValueError);
  CHECK_THROWS_WITH_AS(set_context("num_thread", "2"),
                       "set_context: unknown key 'num_thread', legal are 'mode', 'device_target', 'device_id', "
                       "'num_threads', 'seed'. Did you mean 'num_threads'?",
                       ValueError);
}

TEST_CASE("a number by name that is refused is quoted as it was written, with the legal range") {
  const ContextScope scope({.num_threads = 2, .seed = 12});
  for (const std::string bad :
       {"", "two", "2x", " 2", "2.0", "0", "-1", "1025", "4294967298", "99999999999", "99999999999999999999"})
    CHECK_THROWS_WITH_AS(set_context("num_threads", bad),
                         ("set_context: num_threads must be an integer in 1 .. 1024, got '" + bad + "'.").c_str(),
                         ValueError);
  CHECK_THROWS_WITH_AS(set_context("device_id", "-1"),
                       "set_context: device_id must be an integer in 0 .. 4095, got '-1'.", ValueError);
  CHECK_THROWS_WITH_AS(set_context("seed", "-5"),
                       "set_context: seed must be an integer in 0 .. 18446744073709551615, got '-5'.", ValueError);
  CHECK(get_context().num_threads == 2);
  CHECK(get_context().seed == 12);
  set_context("seed", "18446744073709551615");
  CHECK(get_context().seed == ~std::uint64_t{0});
}

TEST_CASE("settings are read by name as they are written by name") {
  const ContextScope scope({.mode = Mode::pynative, .device_id = 3, .num_threads = 2, .seed = 18446744073709551615u});
  CHECK(get_context("mode") == "pynative");
  CHECK(get_context("device_target") == "CPU");
  CHECK(get_context("device_id") == "3");
  CHECK(get_context("num_threads") == "2");
  CHECK(get_context("seed") == "18446744073709551615");
  for (const char* key : {"mode", "device_target", "device_id", "num_threads", "seed"})
    CHECK_NOTHROW(set_context(key, get_context(key)));
  CHECK_THROWS_WITH_AS(get_context("moode"),
                       "get_context: unknown key 'moode', legal are 'mode', 'device_target', 'device_id', "
                       "'num_threads', 'seed'. Did you mean 'mode'?",
                       ValueError);
}
