// Log files: folders, names, links, levels, rotation, modes; what goes wrong is told once, and the program goes on.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <tenon/debug/log_files.hpp>

#include "../support/logged.hpp"

using namespace tenon;
using support::lines_of;
using support::logged;
using support::messages;
namespace fs = std::filesystem;

namespace {
std::atomic<bool> disk_is_full{false};
}  // namespace

// The program's own function stands before that of the C library. A full disk takes a part of what it is given.
extern "C" ssize_t write(int file, const void* data, size_t count) {
  if (disk_is_full && file > 2) {
    if (count < 10) return errno = ENOSPC, -1;
    count -= count / 2;
  }
  return ssize_t(::syscall(SYS_write, file, data, count));
}

namespace {
const fs::path root = fs::absolute("log_files_test");

/// Variables that ask for files in `root`, which is empty.
support::Variables files(support::Variables more = {}) {
  fs::remove_all(root);
  more.emplace_back("GLOG_logtostderr", "0");
  if (std::none_of(more.begin(), more.end(), [](const auto& v) { return std::string(v.first) == "GLOG_log_dir"; }))
    more.emplace_back("GLOG_log_dir", root.string());
  more.emplace_back("USER", "somebody");
  return more;
}
void one_of_each() {
  logging::debug("d");
  logging::info("i");
  logging::warning("w");
  logging::error("e");
  logging::critical("c");
}
std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
/// The messages in what the link of a level leads to.
std::string in_file(const char* level, const char* rank = "rank_0") {
  return messages(content(root / rank / "logs" / (std::string("mindspore.") + level)));
}
/// Files of a level, without the link.
std::vector<fs::path> files_of(const std::string& level) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(root / "rank_0" / "logs"))
    if (entry.path().filename().string().find(".log." + level + ".") != std::string::npos)
      found.push_back(entry.path());
  return found;
}
const std::string all = "DEBUG ME] d\nINFO ME] i\nWARNING ME] w\nERROR ME] e\nCRITICAL ME] c\n",
                  from_warning = "WARNING ME] w\nERROR ME] e\nCRITICAL ME] c\n",
                  from_error = "ERROR ME] e\nCRITICAL ME] c\n";
}  // namespace

TEST_CASE("log files: folders, names, links, modes, and which lines, as MindSpore's") {
  ::umask(022);
  const std::string screen = logged(files({{"GLOG_v", "0"}}), one_of_each);
  CHECK(messages(screen) == from_warning);
  CHECK(in_file("INFO") == all);
  CHECK(in_file("WARNING") == from_warning);
  CHECK(in_file("ERROR") == from_error);
  int links = 0, plain = 0;
  const std::regex name(R"(mindspore\.[A-Za-z0-9_.-]+\.somebody\.log\.(INFO|WARNING|ERROR)\.\d{8}-\d{6}\.\d+)");
  for (const auto& entry : fs::directory_iterator(root / "rank_0" / "logs")) {
    const fs::path file = entry.is_symlink() ? fs::read_symlink(entry.path()) : entry.path().filename();
    CHECK_MESSAGE(std::regex_match(file.string(), name), file.string());
    ++(entry.is_symlink() ? links : plain);
    CHECK((fs::status(entry.path()).permissions() & fs::perms::all) == fs::perms(0640));
  }
  CHECK(links == 3);
  CHECK(plain == 3);
}

TEST_CASE("log files: only levels that occur have one, and 1 is the screen alone") {
  CHECK(messages(logged(files(), [] { logging::warning("w"), logging::info("i"); })) == "WARNING ME] w\n");
  CHECK(files_of("INFO").size() == 1);
  CHECK(files_of("ERROR").empty());
  fs::remove_all(root);
  const auto to_screen = [](const char* asked) {
    return messages(logged({{"GLOG_logtostderr", asked}, {"GLOG_log_dir", root.string()}}, one_of_each));
  };
  CHECK(to_screen("1") == from_warning);
  CHECK(to_screen("") == from_warning);
  CHECK(!fs::exists(root));
}

TEST_CASE("log files: GLOG_stderrthreshold") {
  const auto screen = [](const char* level) {
    return messages(logged(files({{"GLOG_v", "0"}, {"GLOG_stderrthreshold", level}}), one_of_each));
  };
  CHECK(screen("0") == all);
  CHECK(screen("DEBUG") == all);
  CHECK(screen("3") == from_error);
  CHECK(screen("ERROR") == from_error);
  CHECK(screen("4") == "CRITICAL ME] c\n");
  CHECK(screen("") == from_warning);
  CHECK(screen("5").starts_with("WARNING DEBUG] Incorrect log level, please check the configuration of GLOG_v or "));
  CHECK(in_file("INFO") == all);
}

TEST_CASE("log files: the rank is in the folder's name, and no way out of it") {
  logged(files({{"RANK_ID", "3"}, {"OMPI_COMM_WORLD_RANK", "5"}}), one_of_each);
  CHECK(in_file("INFO", "rank_3") == from_warning);
  logged(files({{"OMPI_COMM_WORLD_RANK", "5"}}), one_of_each);
  CHECK(in_file("INFO", "rank_5") == from_warning);
  CHECK(messages(logged(files({{"RANK_ID", "../x"}}), one_of_each)) ==
        "WARNING DEBUG] Incorrect value, the value of RANK_ID must be a number, but got ../x. It is 0.\n" +
            from_warning);
  CHECK(in_file("INFO") == from_warning);
}

TEST_CASE("log files: a file that has its size is followed by the next, under both names of the variable") {
  for (const char* variable : {"GLOG_max_log_size", "GLOG_log_max"}) {
    logged(files({{variable, "1"}}), [] {
      for (int i = 0; i < 25; ++i) logging::error("line ", i, " ", std::string(100000, 'x'));
    });
    const auto found = files_of("ERROR");
    CHECK(found.size() == 3);
    std::size_t lines = 0;
    for (const fs::path& file : found) {
      CHECK(fs::file_size(file) <= 1 << 20);
      lines += lines_of(content(file)).size();
    }
    CHECK(lines == 25);
    CHECK(lines_of(in_file("ERROR")).back().starts_with("ERROR ME] line 24 "));
  }
  const std::string found = messages(
      logged(files({{"GLOG_max_log_size", "0"}, {"GLOG_log_max", "1"}, {"GLOG_logfile_mode", "0888"}}), one_of_each));
  CHECK(
      found ==
      "WARNING DEBUG] Incorrect value, the value of GLOG_logfile_mode must be a number in octal digits, but got 0888. "
      "It is 0640.\nWARNING DEBUG] Incorrect value, the value of GLOG_max_log_size must be a number, but got 0. It is "
      "50.\n" +
          from_warning);
  logged(files({{"GLOG_logfile_mode", "0600"}}), one_of_each);
  CHECK((fs::status(files_of("INFO").at(0)).permissions() & fs::perms::all) == fs::perms(0600));
}

TEST_CASE("log files: a folder that is not given, or cannot be, is told once, and the screen has all lines") {
  const auto screen = [](const std::string& folder) {
    return messages(logged(files({{"GLOG_v", "0"}, {"GLOG_log_dir", folder}}), one_of_each));
  };
  CHECK(
      screen("") ==
      "WARNING DEBUG] When GLOG_logtostderr is set to 0, the directory of saving log GLOG_log_dir must be set, but got "
      "it empty. Lines go to the error stream.\n" +
          all);
  CHECK(
      screen("/dev/null/logs") ==
      "WARNING DEBUG] Cannot write log files in '/dev/null/logs/rank_0/logs/': Not a directory. Lines go to the error "
      "stream.\n" +
          all);
  for (const std::string& folder :
       {std::string("/proc/x"), std::string(5000, 'a'), std::string("a\nb\x1b") + std::string(300, 'c')}) {
    const auto lines = lines_of(screen(folder));
    REQUIRE(lines.size() == 6);
    CHECK(lines[0].starts_with("WARNING DEBUG] Cannot write log files in '"));
    CHECK(lines[0].size() < 300);
  }
}

TEST_CASE("log files: a folder that vanishes is told once; a file that vanishes is made anew") {
  CHECK(messages(logged(files({{"GLOG_v", "1"}}),
                        [] {
                          logging::info("before");
                          fs::remove_all(root);
                          logging::info("after");
                          logging::info("later");
                        })) ==
        "WARNING DEBUG] Cannot write log files in '" + (root / "rank_0/logs/").string() +
            "': No such file or directory. Lines go to the error stream.\nINFO ME] after\nINFO ME] later\n");
  CHECK(!fs::exists(root));
  CHECK(logged(files({{"GLOG_v", "1"}}), [] {
          logging::info("before");
          fs::remove(files_of("INFO").at(0));
          logging::info("after");
        }) == "");
  CHECK(in_file("INFO") == "INFO ME] after\n");
}

TEST_CASE("log files: a disk that is full is told once, and no half a line stays") {
  CHECK(messages(logged(files({{"GLOG_v", "1"}}),
                        [] {
                          logging::info("before");
                          disk_is_full = true;
                          logging::info("after");
                          logging::info("later");
                        })) ==
        "WARNING DEBUG] Cannot write log files in '" + (root / "rank_0/logs/").string() +
            "': No space left on device. Lines go to the error stream.\nINFO ME] after\nINFO ME] later\n");
  CHECK(in_file("INFO") == "INFO ME] before\n");
}

TEST_CASE("log files: what stands in the link's place stays") {
  fs::create_directories(root / "rank_0" / "logs");
  const support::Variables variables = files();
  fs::create_directories(root / "rank_0" / "logs");
  std::ofstream(root / "rank_0" / "logs" / "mindspore.INFO") << "mine\n";
  logged(variables, one_of_each);
  CHECK(content(root / "rank_0" / "logs" / "mindspore.INFO") == "mine\n");
  CHECK(in_file("ERROR") == from_error);
}

TEST_CASE("log files: eight threads, a child in the midst of it, and a program that closes all files") {
  const std::string screen = logged(files({{"GLOG_v", "1"}}), [] {
    fs::create_directories(root);
    logging::info("thread 9 begins 0 and ends");  // the first line, which nobody forks
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) logging::info("thread ", t, " begins ", i, " and ends");
      });
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (int file = 3; file < 20; ++file) close(file);
      const int mine = open((root / "mine").c_str(), O_WRONLY | O_CREAT, 0600);
      logging::info("child");
      if (::write(mine, "mine\n", 5) != 5) _exit(1);
      _exit(0);
    }
    for (std::thread& t : threads) t.join();
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) _exit(1);
  });
  CHECK(screen == "");
  CHECK(content(root / "mine") == "mine\n");
  const std::regex form(
      R"(\[INFO\] ME\(\d+,[0-9a-f]+,[^)]+\):\S+ \[\S+\] \S+\] (thread \d begins \d+ and ends|child))");
  std::size_t lines = 0;
  for (const fs::path& file : files_of("INFO")) {
    for (const std::string& line : lines_of(content(file))) CHECK_MESSAGE(std::regex_match(line, form), line);
    lines += lines_of(content(file)).size();
  }
  CHECK(files_of("INFO").size() == 2);
  CHECK(lines == 1602);
  fs::remove_all(root);
}

TEST_CASE("log files: a relative folder stays where it was when the program goes elsewhere") {
  logged(files({{"GLOG_log_dir", "log_files_test"}}), [] {
    logging::error("first");
    fs::current_path("/");
    fs::remove(files_of("INFO").at(0));
    logging::error("second");
  });
  CHECK(in_file("INFO") == "ERROR ME] second\n");
  CHECK(in_file("ERROR") == "ERROR ME] first\nERROR ME] second\n");
  fs::remove_all(root);
}
