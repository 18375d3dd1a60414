// Settings: what each key takes, what is refused and how, what is ignored and how that is told, scopes that restore
// them, and what the environment says.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <tenon/core/context.hpp>

#include "../../support/printed.hpp"

using namespace tenon;

namespace {
/// The message of the error E that setting this throws.
template <class E>
std::string refused(const std::string& key, const std::string& value) {
  try {
    set_context(key, value);
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}
/// The warnings of f, without what stands in front of their texts.
template <class F>
std::string warned(F f) {
  std::string all, rest = support::printed_to(stderr, f);
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.erase(0, end + 1)) {
    const std::string line = rest.substr(0, end);
    CHECK(line.starts_with("[WARNING] "));
    all += line.substr(line.find("] ", line.find(".hpp:") + 5) + 2) + "\n";
  }
  for (std::size_t at; (at = all.find("is_ignored] ")) != all.npos;) all.erase(at, 12);
  for (std::size_t at; (at = all.find("context_of_environment] ")) != all.npos;) all.erase(at, 24);
  return all;
}
/// An empty folder until the end of the scope.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_context_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = std::filesystem::canonical(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};
}  // namespace

TEST_CASE("a change names members, the others stay") {
  const ContextScope scope({.mode = Mode::pynative, .num_threads = 3, .seed = 7});
  CHECK(get_context().mode == Mode::pynative);
  CHECK(ThreadPool::instance().threads() == 3);
  set_context({.num_threads = 2});
  CHECK(get_context().mode == Mode::pynative);
  CHECK(get_context().seed == 7);
  CHECK(get_context().num_threads == 2);
}

TEST_CASE("a scope restores all settings, the pool's threads and the limit of memory too") {
  const Folder folder;
  const Context before = get_context();
  const long limit = detail::memory_limit();
  CHECK(limit == detail::no_memory_limit);
  const std::string warnings = warned([&] {
    const ContextScope scope({.mode = Mode::pynative,
                              .device_id = 3,
                              .num_threads = 5,
                              .seed = 99,
                              .max_device_memory = "1.5GB",
                              .save_graphs = true,
                              .save_graphs_path = folder.path.string(),
                              .reserve_class_name_in_scope = false,
                              .enable_dump = true,
                              .save_dump_path = folder.path.string(),
                              .print_file_path = "prints",
                              .enable_profiling = true,
                              .profiling_options = "task_trace"});
    CHECK(detail::memory_limit() == 3L << 29);
    CHECK(get_context().save_graphs == 2);
    CHECK(get_context().save_graphs_path == folder.path);
    CHECK(!get_context().reserve_class_name_in_scope);
    CHECK(get_context().enable_dump);
    CHECK(get_context().save_dump_path == folder.path);
    CHECK(get_context().print_file_path == "prints");
    CHECK(get_context().enable_profiling);
    CHECK(get_context().profiling_options == "task_trace");
    CHECK(ThreadPool::instance().threads() == 5);
  });
  for (const detail::ContextKey& key : detail::context_keys) {
    CAPTURE(key.name);
    CHECK(get_context(key.name) ==
          detail::context_value(before, detail::context_key(detail::context_row("Get", key.name))));
    const bool kept = key.effect == detail::KeyEffect::kept;
    CHECK((warnings.find(text("'", key.name, "' is kept and does nothing: ", key.note, ".\n")) != warnings.npos) ==
          kept);
  }
  CHECK(ThreadPool::instance().threads() == before.num_threads);
  CHECK(detail::memory_limit() == limit);
  CHECK((get_context().by_call == before.by_call && get_context().by_environment == before.by_environment));
}

TEST_CASE("if one value is illegal nothing has changed") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 2});
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode::pynative, .num_threads = 0}),
                       "Argument num_threads must be in 1 .. 1024, got '0'.", ValueError);
  CHECK(get_context().mode == Mode::graph);
  CHECK(get_context().num_threads == 2);
  CHECK_THROWS_WITH_AS(set_context({.mode = Mode(7)}),
                       "The execution mode '7' is invalid! Legal are 'graph' (0, GRAPH_MODE) and 'pynative' (1, "
                       "PYNATIVE_MODE).",
                       ValueError);
}

TEST_CASE("mode: by its name, number, and constant, at any time") {
  const ContextScope scope({});
  for (const char* value : {"pynative", "1", "PYNATIVE_MODE"}) {
    set_context("mode", "graph");
    set_context("mode", value);
    CHECK(get_context().mode == Mode::pynative);
    CHECK(get_context("mode") == "pynative");
  }
  for (const char* value : {"graph", "0", "GRAPH_MODE"}) {
    set_context("mode", "pynative");
    set_context("mode", value);
    CHECK(get_context().mode == Mode::graph);
    CHECK(get_context("mode") == "graph");
  }
  for (const std::string bad : {"", "eager", "2", "-1", "Graph"})
    CHECK(refused<ValueError>("mode", bad) == "The execution mode '" + bad +
                                                  "' is invalid! Legal are 'graph' (0, GRAPH_MODE) and 'pynative' (1, "
                                                  "PYNATIVE_MODE).");
}

TEST_CASE("device_target: what there is, and what others would need") {
  set_context("device_target", "CPU");
  CHECK(refused<ValueError>("device_target", "cpu") ==
        "Argument device_target must be one of 'CPU', 'GPU', 'Ascend', got 'cpu'. Did you mean 'CPU'?");
  for (const std::string huawei : {"Ascend", "Davinci"})
    CHECK(refused<ValueError>("device_target", huawei) ==
          "Argument device_target must be 'CPU', got '" + huawei +
              "'. It needs Huawei's CANN toolkit, for which Tenon has no backend.");
  CHECK(refused<ValueError>("device_target", "GPU") ==
        "Argument device_target must be 'CPU', got 'GPU'. It needs a program compiled by nvcc (CUDA 13 or newer), "
        "which this is not (docs/cuda.md).");
  CHECK(refused<ValueError>("device_target", "abacus")
            .ends_with("got 'abacus'. A target of backend/<folder>/ is compiled in by -DTENON_TARGET=<folder>."));
  CHECK(get_context().device_target == "CPU");
}

TEST_CASE("numbers: text that is none is a TypeError, one out of range a ValueError") {
  const ContextScope scope({.num_threads = 2, .seed = 12});
  for (const std::string bad : {"", "two", "2x", " 2", "2.0", "-", "+2", "True"})
    CHECK(refused<TypeError>("num_threads", bad) ==
          "Argument num_threads must be int in 1 .. 1024, got '" + bad + "'.");
  for (const std::string bad : {"0", "-1", "1025", "4294967298", "99999999999", "99999999999999999999"})
    CHECK(refused<ValueError>("num_threads", bad) == "Argument num_threads must be in 1 .. 1024, got '" + bad + "'.");
  CHECK(refused<ValueError>("runtime_num_threads", "0") == "Argument num_threads must be in 1 .. 1024, got '0'.");
  CHECK(refused<ValueError>("device_id", "4096") == "Argument device_id must be in 0 .. 4095, got '4096'.");
  CHECK(refused<ValueError>("seed", "-5") == "Argument seed must be in 0 .. 18446744073709551615, got '-5'.");
  CHECK(refused<ValueError>("seed", "18446744073709551616").starts_with("Argument seed must be in 0 .. "));
  CHECK(refused<ValueError>("max_call_depth", "0") == "Argument max_call_depth must be in 1 .. 2147483647, got '0'.");
  CHECK(get_context().num_threads == 2);
  CHECK(get_context().seed == 12);
  set_context("seed", "18446744073709551615");
  CHECK(get_context().seed == ~std::uint64_t{0});
  CHECK(get_context("seed") == "18446744073709551615");
  set_context("runtime_num_threads", "3");
  CHECK(get_context().num_threads == 3);
  CHECK(get_context("runtime_num_threads") == "3");
  CHECK(ThreadPool::instance().threads() == 3);
  CHECK(warned([] { set_context("device_id", "4095"); }) ==
        "Config 'device_id' is kept and does nothing: the CPU is one device.\n");
  CHECK(get_context().device_id == 4095);
}

TEST_CASE("flags: every spelling, and the TypeError for another one") {
  const ContextScope scope({});
  for (const char* value : {"False", "false", "0"}) {
    set_context({.reserve_class_name_in_scope = true});
    set_context("reserve_class_name_in_scope", value);
    CHECK(get_context("reserve_class_name_in_scope") == "False");
  }
  for (const char* value : {"True", "true", "1"}) {
    set_context({.reserve_class_name_in_scope = false});
    set_context("reserve_class_name_in_scope", value);
    CHECK(get_context("reserve_class_name_in_scope") == "True");
  }
  for (const std::string bad : {"", "yes", "2", "TRUE"})
    CHECK(refused<TypeError>("enable_dump", bad) ==
          "Argument enable_dump must be bool (True, true, 1, False, false, or 0), got '" + bad + "'.");
}

TEST_CASE("save_graphs: a level, or True for 2") {
  const ContextScope scope({});
  static_cast<void>(warned([] {
    for (const auto [value, level] : {std::pair{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"False", 0}, {"True", 2}}) {
      set_context("save_graphs", value);
      CHECK(get_context().save_graphs == level);
    }
    set_context({.save_graphs = 3});
    CHECK(get_context().save_graphs == 3);
    set_context({.save_graphs = false});
    CHECK(get_context().save_graphs == 0);
    set_context({.save_graphs = true});
    CHECK(get_context().save_graphs == 2);
  }));
  for (const std::string bad : {"4", "-1", "", "yes"})
    CHECK(refused<ValueError>("save_graphs", bad) ==
          "value for save_graphs should be 0-3 but got '" + bad + "'. False is 0, True is 2.");
}

TEST_CASE("max_device_memory: MindSpore's pattern") {
  const ContextScope scope({});
  for (const auto& [value, bytes] : {std::pair{"1GB", 1L << 30},
                                     {"2.GB", 2L << 30},
                                     {"0.5GB", 1L << 29},
                                     {"10.25GB", 41L << 28},
                                     {"1023GB", 1023L << 30},
                                     {"1024GB", detail::no_memory_limit},
                                     {"99999999999999999999GB", detail::no_memory_limit}}) {
    set_context("max_device_memory", value);
    CHECK(get_context().max_device_memory == value);
    CHECK(detail::memory_limit() == bytes);
  }
  for (const std::string bad : {"", "2", "2 GB", "2gb", "GB", ".5GB", "0GB", "0.GB", "0.0GB", "02GB", "1.2.3GB", "-1GB",
                                "1GBGB", "2GBs", "2MB"})
    CHECK(refused<ValueError>("max_device_memory", bad) ==
          "Argument max_device_memory must be a text such as '2GB' or '0.5GB', got '" + bad + "'.");
  CHECK(refused<ValueError>("mempool_block_size", "0.5GB") ==
        "Argument mempool_block_size must be a text such as '2GB', from 1GB on, got '0.5GB'.");
}

TEST_CASE("folders are made, and known by their path from the root on") {
  const ContextScope scope({});
  const Folder folder;
  const std::string below = folder.path / "a" / "b";
  static_cast<void>(warned([&] { set_context("save_graphs_path", below + "/../b/"); }));
  CHECK(std::filesystem::is_directory(below));
  CHECK(get_context().save_graphs_path == below);
  std::ofstream(folder.path / "file") << "text";
  for (const std::string key : {"save_graphs_path", "save_dump_path"}) {
    CHECK(refused<ValueError>(key, "") == "Argument " + key + " must be a folder ('.' is the current one), got ''.");
    const std::string file = folder.path / "file";
    CHECK(refused<ValueError>(key, file) == "Argument " + key + " must be a folder that can be written, got '" + file +
                                                "'. The system says: Not a directory");
    CHECK(refused<ValueError>(key, "/proc/nothing") ==
          "Argument " + key +
              " must be a folder that can be written, got '/proc/nothing'. The system says: No such file or directory");
  }
  CHECK(get_context().save_graphs_path == below);
}

TEST_CASE("print_file_path: a file that is there stays") {
  const ContextScope scope({});
  const Folder folder;
  const std::string path = folder.path / "prints";
  static_cast<void>(warned([&] {
    set_context("print_file_path", path);
    CHECK(get_context().print_file_path == path);
    std::ofstream(path) << "old";
    set_context("print_file_path", path);
  }));
  const std::string other = get_context().print_file_path;
  REQUIRE(other.starts_with(path + "."));
  CHECK(std::abs(std::atol(other.c_str() + path.size() + 1) - long(std::time(nullptr))) < 100);
  CHECK(refused<RuntimeError>("print_file_path", folder.path) ==
        "Argument print_file_path must be a file, got '" + folder.path.string() + "', which is a directory.");
}

TEST_CASE("profiling_options: traces or JSON") {
  const ContextScope scope({});
  static_cast<void>(warned([] {
    for (const char* value :
         {"training_trace", "training_trace:task_trace", "op_trace", R"({"training_trace": "on"})"}) {
      set_context("profiling_options", value);
      CHECK(get_context().profiling_options == value);
    }
  }));
  CHECK(refused<ValueError>("profiling_options", "training") ==
        "Argument profiling_options must be one of 'training_trace', 'task_trace', 'op_trace', got 'training'.");
  CHECK(refused<ValueError>("profiling_options", "") ==
        "Argument profiling_options must be 1 to 2048 characters, got ''.");
  CHECK(refused<ValueError>("profiling_options", "{" + std::string(2047, ' ') + "}")
            .starts_with("Argument profiling_options must be 1 to 2048 characters, got '{ "));
}

TEST_CASE("a key of other devices is ignored with MindSpore's warning, whatever the value") {
  for (const detail::ContextKey& key : detail::context_keys) {
    if (!*key.devices) continue;
    CAPTURE(key.name);
    const std::string before = get_context(key.name);
    const std::string devices =
        std::string(key.devices) == "Ascend GPU" ? "'Ascend', 'GPU'" : text("'", key.devices, "'");
    CHECK(warned([&] { set_context(key.name, "anything"); }) == text("Config '", key.name,
                                                                     "' only supports devices in [", devices,
                                                                     "], current device is 'CPU', ignore it.\n"));
    CHECK(get_context(key.name) == before);
  }
}

TEST_CASE("a key with one value takes it without a word, and ignores others with the reason") {
  int fixed = 0;
  for (const detail::ContextKey& key : detail::context_keys) {
    if (key.effect != detail::KeyEffect::always && key.effect != detail::KeyEffect::fixed) continue;
    if (*key.devices) continue;
    ++fixed;
    CAPTURE(key.name);
    CHECK(warned([&] { set_context(key.name, key.usual); }).empty());
    using Kind = detail::KeyKind;
    const std::string usual = key.usual;
    const std::string other = key.kind == Kind::flag        ? (usual == "True" ? "False" : "True")
                              : key.kind == Kind::whole     ? "1"
                              : key.kind == Kind::gigabytes ? "7GB"
                              : key.kind == Kind::choice
                                  ? detail::words(key.legal)[detail::words(key.legal)[0] == usual]
                                  : "other";
    REQUIRE(other != usual);
    CHECK(warned([&] { set_context(key.name, other); }) ==
          text("Config '", key.name, "' stays '", usual, "', ignore '", other, "': ", key.note, ".\n"));
    CHECK(get_context(key.name) == usual);
  }
  CHECK(fixed > 15);
  CHECK(refused<ValueError>("deterministic", "on") ==
        "Argument deterministic must be one of 'ON', 'OFF', got 'on'. Did you mean 'ON'?");
  CHECK(refused<ValueError>("auto_tune_mode", "rl")
            .starts_with("Argument auto_tune_mode must be one of 'NO_TUNE', 'RL', 'GA', 'RL,GA', 'GA,RL', got 'rl'."));
}

TEST_CASE("what is read by name can be written by name, and defaults are what the table says") {
  const ContextScope scope({});
  for (const detail::ContextKey& key : detail::context_keys) {
    CAPTURE(key.name);
    if (std::string(key.usual) != "all processors" && key.effect != detail::KeyEffect::renamed)
      CHECK(get_context(key.name) == key.usual);
    if (*key.devices || std::string(key.name).ends_with("_path")) continue;
    const std::string value = get_context(key.name);
    CHECK(warned([&] { set_context(key.name, value); }).empty());
    CHECK(get_context(key.name) == value);
  }
}

TEST_CASE("an unknown key is refused in MindSpore's words, with the nearest one and all") {
  const std::string told = refused<ValueError>("num_thread", "2");
  CHECK(told.starts_with("Set context keyword num_thread is not recognized! Did you mean 'num_threads'? Legal are "
                         "'mode', 'device_target', "));
  for (const detail::ContextKey& key : detail::context_keys) CHECK(told.find(text("'", key.name, "'")) != told.npos);
  CHECK_THROWS_AS(static_cast<void>(get_context("moode")), ValueError);
  try {
    static_cast<void>(get_context("moode"));
  } catch (const ValueError& e) {
    CHECK(std::string(e.what()).starts_with("Get context keyword moode is not recognized! Did you mean 'mode'? "));
  }
}

TEST_CASE("the environment gives defaults, and wrong ones are told and left") {
  const auto with = [](const char* variable, const char* value, Context& c) {
    ::setenv(variable, value, 1);
    const std::string warnings = warned([&] { c = detail::context_of_environment(); });
    ::unsetenv(variable);
    return warnings;
  };
  Context c;
  CHECK(warned([&] { c = detail::context_of_environment(); }).empty());
  CHECK((c.by_environment == 0 && c.by_call == 0));
  CHECK(with("DEVICE_ID", "3", c) == "Config 'device_id' is kept and does nothing: the CPU is one device.\n");
  CHECK(c.device_id == 3);
  CHECK(c.by_environment == std::uint64_t{1} << detail::context_row("Get", "device_id"));
  CHECK(c.by_call == 0);
  CHECK(with("DEVICE_ID", "three", c) ==
        "The variable DEVICE_ID is ignored: Argument device_id must be int in 0 .. 4095, got 'three'.\n");
  CHECK((c.device_id == 0 && c.by_environment == 0));
  CHECK(with("DEVICE_ID", "5000", c) ==
        "The variable DEVICE_ID is ignored: Argument device_id must be in 0 .. 4095, got '5000'.\n");
  CHECK(c.device_id == 0);
  const std::string missing = with("PROFILING_MODE", "true", c);  // told once in a program, which a test above may have
  CHECK((missing.empty() || missing.starts_with("Config 'enable_profiling' does nothing in this program, which is ")));
  CHECK(c.enable_profiling);
  static_cast<void>(with("PROFILING_OPTIONS", "task_trace", c));
  CHECK(c.profiling_options == "task_trace");
}
