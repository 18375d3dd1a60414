// Log lines: form, levels, environment, and one whole line at a time.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/log.hpp>

using namespace tenon;

namespace {
// What a child process with these variables writes to stderr while it runs f.
template <class F>
std::string logged(const char* glog_v, const char* to_stderr, F f) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    glog_v ? setenv("GLOG_v", glog_v, 1) : unsetenv("GLOG_v");
    to_stderr ? setenv("GLOG_logtostderr", to_stderr, 1) : unsetenv("GLOG_logtostderr");
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) all.append(buffer, std::size_t(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return all;
}
void one_of_each() {
  logging::debug("d");
  logging::info("i");
  logging::warning("w");
  logging::error("e");
  logging::critical("c");
}
std::string levels(const std::string& lines) {
  std::string letters;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) letters += line.back();
  return letters;
}
}  // namespace

TEST_CASE("a line has MindSpore's form, with the place of the call") {
  const unsigned line = __LINE__ + 1;
  const std::string found = logged(nullptr, nullptr, [] { logging::warning("rate ", 3, std::string(" is high")); });
  const std::regex form(R"(\[WARNING\] ME\((\d+),([0-9a-f]+),log\):(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3}) )"
                        R"(\[(\S*core/log\.cpp):(\d+)\] \S+\] rate 3 is high\n)");
  std::smatch parts;
  REQUIRE_MESSAGE(std::regex_match(found, parts, form), found);
  CHECK(parts[5] == std::to_string(line));
}

TEST_CASE("GLOG_v is the lowest level that is written; WARNING without it and for what is no level") {
  const char* expected[]{"diwec", "iwec", "wec", "ec", "c"};
  for (int v = 0; v <= 4; ++v) CHECK(levels(logged(std::to_string(v).c_str(), nullptr, one_of_each)) == expected[v]);
  for (const char* bad : {"", "9", "-1", "2x", "WARNING"}) CHECK(levels(logged(bad, nullptr, one_of_each)) == "wec");
  CHECK(levels(logged(nullptr, nullptr, one_of_each)) == "wec");
}

TEST_CASE("GLOG_logtostderr=0 keeps the screen to warnings and more") {
  CHECK(levels(logged("0", "0", one_of_each)) == "wec");
  CHECK(levels(logged("3", "0", one_of_each)) == "ec");
  CHECK(levels(logged("0", "1", one_of_each)) == "diwec");
}

TEST_CASE("a level that is set overrides the environment") {
  CHECK(levels(logged("4", nullptr, [] {
          logging::set_level(logging::Level::info);
          one_of_each();
        })) == "iwec");
}

TEST_CASE("lines of several threads do not mix") {
  const std::string all = logged(nullptr, nullptr, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) logging::error("begin ", i, " of a line that is not short at all, end");
      });
    for (std::thread& t : threads) t.join();
  });
  std::istringstream in(all);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    CHECK((line.starts_with("[ERROR] ME(") && line.ends_with("end") && line.rfind("[ERROR]") == 0));
  CHECK(lines == 400);
}

TEST_CASE("names are cut to what a reader needs") {
  CHECK(logging::detail::bare_name("int main()") == "main");
  CHECK(logging::detail::bare_name("static void ns::Job::run(const std::string&)") == "run");
  CHECK(logging::detail::bare_name("T* find(int)") == "find");
  CHECK(logging::detail::short_path("/usr/include/tenon/core/log.hpp") == "tenon/core/log.hpp");
  CHECK(logging::detail::short_path("src/main.cpp") == "src/main.cpp");
}
