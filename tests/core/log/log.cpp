// Log lines: form, levels, environment, and one whole line at a time.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

#include <tenon/core/log/log.hpp>
#include <tenon/debug/log_levels.hpp>

#include "../../support/logged.hpp"
#include "../../support/shared.hpp"

using namespace tenon;
using support::logged;
using support::messages;

namespace {
void one_of_each() {
  logging::debug("d");
  logging::info("i");
  logging::warning("w");
  logging::error("e");
  logging::critical("c");
}
/// The last letters of the lines that one_of_each has written.
std::string levels(const std::string& lines) {
  std::string letters;
  for (const std::string& line : support::lines_of(lines)) letters += line.back();
  return letters;
}
/// A line of MindSpore's C++, whose form ours have: process, thread, program, time, place, function, message.
const std::regex form(R"(\[(DEBUG|INFO|WARNING|ERROR|CRITICAL)\] ([A-Z_]+)\((\d+),([0-9a-f]+),([^ ,()]+)\):)"
                      R"((\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3}) \[(\S+):(\d+)\] ([^ \]]+)\] (.*))");
}  // namespace

TEST_CASE("a line has MindSpore's form, with the place of the call") {
  const unsigned line = __LINE__ + 1;
  const std::string found = logged({}, [] { logging::warning("rate ", 3, std::string(" is high")); });
  std::smatch parts;
  const std::string first = found.substr(0, found.find('\n'));
  REQUIRE_MESSAGE(std::regex_match(first, parts, form), found);
  CHECK(parts[2] == "ME");
  CHECK(parts[5] == program_invocation_short_name);
  CHECK(parts[7].str().ends_with("core/log/log.cpp"));
  CHECK(parts[8] == std::to_string(line));
  CHECK(parts[10] == "rate 3 is high");
  CHECK(found == first + "\n");
}

TEST_CASE("GLOG_v is the lowest level that is written; WARNING without it and for what is no level") {
  const char* expected[]{"diwec", "iwec", "wec", "ec", "c"};
  for (int v = 0; v <= 4; ++v) CHECK(levels(logged({{"GLOG_v", std::to_string(v)}}, one_of_each)) == expected[v]);
  for (const char* bad : {"9", "-1", "2x", "WARNING"})
    CHECK(levels(logged({{"GLOG_v", bad}}, one_of_each)) == ".wec");  // a sentence about it before
  CHECK(levels(logged({{"GLOG_v", ""}}, one_of_each)) == "wec");
  CHECK(levels(logged({}, one_of_each)) == "wec");
}

TEST_CASE("a level that is set overrides the environment") {
  const auto set_info = [] {
    logging::set_level(logging::Level::info);
    CHECK(logging::level() == logging::Level::info);
    one_of_each();
  };
  CHECK(levels(logged({{"GLOG_v", "4"}}, set_info)) == "iwec");
  CHECK(levels(logged({{"GLOG_v", "1"}, {"MS_SUBMODULE_LOG_v", "{ME:4}"}}, set_info)) == "iwec");
  CHECK(logged({{"GLOG_v", "3"}}, [] { CHECK(logging::level() == logging::Level::error); }) == "");
}

TEST_CASE("MS_SUBMODULE_LOG_v: the program's own lines are of ME") {
  const auto with = [](const char* glog_v, const char* modules) {
    return levels(logged({{"GLOG_v", glog_v}, {"MS_SUBMODULE_LOG_v", modules}}, one_of_each));
  };
  CHECK(with("2", "{ME:0}") == "diwec");
  CHECK(with("0", "{ME:3}") == "ec");
  CHECK(with("2", "{MD:0}") == "wec");  // which lowers the bar for MD alone
  CHECK(with("1", "{PARSER:2,ANALYZER:2}") == "iwec");
}

TEST_CASE("MS_SUBMODULE_LOG_v: lines of Tenon's headers are of their folders' modules") {
  const support::Variables wrong_twice{{"GLOG_v", "9"}, {"MS_SUBMODULE_LOG_v", "{CORE:3,ME:0}"}};
  CHECK(levels(logged(wrong_twice, one_of_each)) == "diwec");  // a sentence of CORE's is below its level
  const std::string found = logged({{"GLOG_v", "9"}}, one_of_each);
  CHECK(found.starts_with("[WARNING] CORE("));
  CHECK(found.find(" [tenon/core/log/log.hpp:") != found.npos);
}

TEST_CASE("log files that are not built in: one sentence says how, and nothing is lost") {
  const std::string found =
      messages(logged({{"GLOG_v", "1"}, {"GLOG_logtostderr", "0"}, {"GLOG_log_dir", "x"}}, one_of_each));
  CHECK(found == "WARNING CORE] GLOG_logtostderr=0 asks for log files, which this program has not built in: include "
                 "<tenon/debug/log_files.hpp> in one of its sources. Lines go to the "
                 "error stream.\nINFO ME] i\nWARNING ME] w\nERROR ME] e\nCRITICAL ME] c\n");
  CHECK(levels(logged({{"GLOG_v", "0"}, {"GLOG_logtostderr", "1"}}, one_of_each)) == "diwec");
  CHECK(levels(logged({{"GLOG_v", "0"}, {"GLOG_logtostderr", ""}}, one_of_each)) == "diwec");
  for (const char* bad : {"2", "00", "true", "-"})
    CHECK(messages(
              logged({{"GLOG_v", "4"}, {"MS_SUBMODULE_LOG_v", "{CORE:2}"}, {"GLOG_logtostderr", bad}}, one_of_each)) ==
          "WARNING CORE] Incorrect value, the value of GLOG_logtostderr must be 0 or 1, but got " + std::string(bad) +
              ". It is 1.\nCRITICAL ME] c\n");
}

TEST_CASE("levels of modules that are not built in: one sentence says how, and GLOG_v holds") {
  const support::Variables variables{{"GLOG_v", "1"}, {"MS_SUBMODULE_LOG_v", "{ME:3}"}};
  CHECK(messages(logged(variables,
                        [] {
                          logging::detail::level_reader = nullptr;
                          one_of_each();
                        })) ==
        "WARNING CORE] MS_SUBMODULE_LOG_v asks for levels of modules, which this program has not built in: "
        "include <tenon/debug/log_files.hpp> in one of its sources. All have the one of GLOG_v.\n"
        "INFO ME] i\nWARNING ME] w\nERROR ME] e\nCRITICAL ME] c\n");
  CHECK(levels(logged({{"MS_SUBMODULE_LOG_v", ""}}, [] {
          logging::detail::level_reader = nullptr;
          one_of_each();
        })) == "wec");
}

TEST_CASE("what MindSpore writes, under the same environment") {
  struct Case {
    const char* name;
    support::Variables variables;
  };
  const Case cases[]{{"default", {}},
                     {"glog_v3", {{"GLOG_v", "3"}}},
                     {"glog_v4", {{"GLOG_v", "4"}}},
                     {"submodule_bad_level", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{MD:7}"}}},
                     {"submodule_syntax", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{MD:1"}}},
                     {"submodule_empty_braces", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{}"}}},
                     {"submodule_unknown", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{NOPE:1}"}}},
                     {"submodule_lower", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{md:1}"}}},
                     {"submodule_trailing", {{"GLOG_v", "2"}, {"MS_SUBMODULE_LOG_v", "{MD:2} tail"}}},
                     {"submodule_spaces", {{"GLOG_v", "3"}, {"MS_SUBMODULE_LOG_v", "{ PYNATIVE : 1 , MD : 3 }"}}},
                     {"submodule_dup", {{"GLOG_v", "3"}, {"MS_SUBMODULE_LOG_v", "{MD:3,MD:1}"}}}};
  if (!support::have_shared("golden/console/log_default.graph.stderr.txt")) return;
  for (const auto& [name, variables] : cases) {
    std::ifstream file(support::shared_folder() + "/golden/console/log_" + name + ".graph.stderr.txt");
    const std::string all(std::istreambuf_iterator<char>(file), {});
    // The lines of its script, and those about the variables. It has others, from places that we do not have.
    std::string expected;
    for (const std::string& line : support::lines_of(messages(all)))
      if (line.find("] a") != line.npos || line.find(" CORE] ") != line.npos) expected += line + "\n";
    const std::string found = logged(variables, [] {
      logging::debug("a debug ", 1);
      logging::info("an info");
      logging::warning("a warning");
      logging::error("an error");
      logging::critical("a critical");
    });
    CHECK_MESSAGE(messages(found) == expected, name);
    for (const std::string& line : support::lines_of(found)) CHECK_MESSAGE(std::regex_match(line, form), line);
    for (const std::string& line : support::lines_of(all))  // the script's own have a decimal thread, then its name
      CHECK_MESSAGE((std::regex_match(line, form) || line.find(",MainProcess)") != line.npos), line);
  }
}

TEST_CASE("each folder of Tenon has a module, other files are ME") {
  using namespace logging::detail;
  const auto module_of = [](const char* file) { return std::string(modules[module_of_file(file)]); };
  CHECK(module_of("/usr/include/tenon/backend/cpu/gemm/gemm.hpp") == "KERNEL");
  CHECK(module_of("include/tenon/call/apply.hpp") == "PYNATIVE");
  CHECK(module_of("include/tenon/run/executor.hpp") == "SESSION");
  CHECK(module_of("include/tenon/graph/pass/tile.hpp") == "OPTIMIZER");
  CHECK(module_of("include/tenon/graph/plan/plan.hpp") == "PIPELINE");
  CHECK(module_of("include/tenon/core/memory/arena.hpp") == "DEVICE");
  CHECK(module_of("include/tenon/core/context.hpp") == "CORE");
  CHECK(module_of("include/tenon/dataset/batch/batch.hpp") == "MD");
  CHECK(module_of("include/tenon/debug/dump.hpp") == "DEBUG");
  CHECK(module_of("include/tenon/debug/profiler.hpp") == "PROFILER");
  CHECK(module_of("include/tenon/train/model.hpp") == "ME");
  CHECK(module_of("include/tenon/tenon.hpp") == "ME");
  for (const char* file : {"", "main.cpp", "src/kernel/main.cpp", "tenon/core/x.hpp", "include/tenon"})
    CHECK(module_of(file) == "ME");
  for (const auto& [folder, module] : modules_of_folders) CHECK(module_index(module) < module_count);
}

TEST_CASE("lines of several threads do not mix, also longer ones than a pipe takes at once") {
  for (const std::size_t length : {10u, 20000u}) {
    const std::string long_text(length, 'x');
    const std::string all = logged({{"MS_SUBMODULE_LOG_v", "{MD:0}"}}, [&] {
      std::vector<std::thread> threads;
      for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
          for (int i = 0; i < 50; ++i) {
            logging::error("begin ", i, long_text, "end");
            logging::debug("not written");
          }
        });
      for (std::thread& t : threads) t.join();
    });
    int lines = 0;
    for (const std::string& line : support::lines_of(all)) {
      CHECK((line.starts_with("[ERROR] ME(") && line.ends_with("xend") && line.rfind("[ERROR]") == 0));
      ++lines;
    }
    CHECK(lines == 400);
  }
}

TEST_CASE("the environment is read once, by whichever thread is first") {
  const std::string all = logged({{"GLOG_v", "x"}, {"MS_SUBMODULE_LOG_v", "{ME:0"}}, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back([] { logging::info("never"); });
    for (std::thread& t : threads) t.join();
  });
  CHECK(support::lines_of(all).size() == 2);
}

TEST_CASE("a child that fork() makes while other threads write logs at once") {
  const std::string all = logged({}, [] {
    logging::error("the first line, which nobody forks");
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        while (!stop) logging::error("parent");
      });
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        logging::critical("child ", i);
        _exit(0);
      }
      int status = -1;
      waitpid(child, &status, 0);
      if (status != 0) _exit(1);
    }
    stop = true;
    for (std::thread& t : threads) t.join();
  });
  int children = 0;
  for (const std::string& line : support::lines_of(all)) {
    CHECK_MESSAGE(std::regex_match(line, form), line);
    children += line.starts_with("[CRITICAL]");
  }
  CHECK(children == 20);
}

TEST_CASE("an error stream that takes nothing is no reason to stop") {
  CHECK(logged({}, [] {
          close(STDERR_FILENO);
          one_of_each();
          open("/dev/full", O_WRONLY);
          one_of_each();
        }) == "");
}

TEST_CASE("names are cut to what a reader needs") {
  CHECK(logging::detail::bare_name("int main()") == "main");
  CHECK(logging::detail::bare_name("static void ns::Job::run(const std::string&)") == "run");
  CHECK(logging::detail::bare_name("T* find(int)") == "find");
  CHECK(logging::detail::short_path("/usr/include/tenon/core/log/log.hpp") == "tenon/core/log/log.hpp");
  CHECK(logging::detail::short_path("src/main.cpp") == "src/main.cpp");
}
