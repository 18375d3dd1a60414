// print_file_path: what a network prints goes to a file, and to the screen when the file cannot take it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/printed.hpp"
#include "../support/skip.hpp"

#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/debug/print_file.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

struct Printing : nn::Cell<Printing> {
  constexpr auto construct(auto x) const {
    print("x", x, "its square", x * x);
    return x;
  }
};
namespace {
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("tenon_prints_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
};
const Tensor<float, Shape<2>> x{2.0f, 3.0f};
const std::string x_on_screen = "Tensor(shape=[2], dtype=Float32, value=[ 2.00000000e+00  3.00000000e+00])\n";
const std::string on_screen =
    "x\n" + x_on_screen + "its square\nTensor(shape=[2], dtype=Float32, value=[ 4.00000000e+00  9.00000000e+00])\n";

std::string printed(const Tensor<float, Shape<2>>& value = x) {
  return support::printed_to(stdout, [&] { Printing{}(value); });
}
/// What parse_print makes of a file, as it would be on the screen.
std::string text_of(const std::string& path) {
  std::string all;
  const io::PrintFile file = io::parse_print(path);
  for (const TextOrTensor& value : file.values())
    all += (value.is_tensor ? to_string(value.tensor) : std::string(value.text)) + "\n";
  return all;
}
auto mode_of(const std::string& path) { return unsigned(std::filesystem::status(path).permissions()); }
/// The text of the one warning of f.
template <class F>
std::string warning(F f) {
  const std::string line = support::printed_to(stderr, f);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  const auto at = line.find("] Cannot print");
  return at == line.npos ? line : line.substr(at + 2);
}
/// Prints when everything else is over, in a child that wants it.
struct LastPrint {
  bool wanted = false;
  ~LastPrint() {
    if (wanted) print("late", x);
  }
} last_print;
/// f in a child, which ends by exit(); what both streams got.
template <class F>
std::string said_by_child(F f) {
  return support::printed_to(stderr, [&] {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(2, 1);
      f();
      std::exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  });
}
}  // namespace

TEST_CASE("both modes print to the file; it is good at any time, and read-only when it is closed") {
  const Folder folder;
  {
    const ContextScope scope({.mode = Mode::graph, .print_file_path = folder / "prints"});
    CHECK(printed() == "");
    CHECK(text_of(folder / "prints") == on_screen);
    CHECK(mode_of(folder / "prints") == 0600);
    set_context({.mode = Mode::pynative});
    CHECK(printed() == "");
  }
  CHECK(printed() == on_screen);
  debug::close_print_file();
  CHECK(mode_of(folder / "prints") == 0400);
  CHECK(text_of(folder / "prints") == on_screen + on_screen);
}
TEST_CASE("another path is another file; one that is there stays") {
  const Folder folder;
  const ContextScope scope({.print_file_path = folder / "a"});
  CHECK(printed() == "");
  set_context({.print_file_path = folder / "b"});
  CHECK(printed() == "");
  CHECK(mode_of(folder / "a") == 0400);
  debug::close_print_file();
  std::string shown;
  CHECK(warning([&] { shown = printed() + printed(); }) ==
        "Cannot print to '" + folder / "b" + "': File exists. What is printed goes to the screen from here on.\n");
  CHECK(shown == on_screen + on_screen);
  CHECK(text_of(folder / "b") == on_screen);
}
TEST_CASE("a path that comes back at the end of a scope gets what is printed behind what it has") {
  const Folder folder;
  const ContextScope scope({.print_file_path = folder / "a"});
  CHECK(printed() == "");
  for (const char* other : {"b", "c"}) {
    {
      const ContextScope inner({.print_file_path = folder / other});
      CHECK(printed() == "");
      CHECK(mode_of(folder / "a") == 0400);
    }
    CHECK(printed() == "");
    CHECK(mode_of(folder / "a") == 0600);
    CHECK(text_of(folder / other) == on_screen);
  }
  CHECK(text_of(folder / "a") == on_screen + on_screen + on_screen);
  {  // another file in its place stays as it is
    const ContextScope inner({.print_file_path = folder / "d"});
    CHECK(printed() == "");
    std::filesystem::rename(folder / "a", folder / "moved");
    std::filesystem::copy_file(folder / "b", folder / "a");
  }
  std::string shown;
  CHECK(warning([&] { shown = printed(); }) == "Cannot print to '" + folder / "a" +
                                                   "': others have changed it. What is printed goes to the screen "
                                                   "from here on.\n");
  CHECK(shown == on_screen);
  CHECK(text_of(folder / "a") == on_screen);
  debug::close_print_file();
}
TEST_CASE("a full disk: one warning, and nothing half-written") {
  const Folder folder;
  const ContextScope scope({.print_file_path = folder / "full"});
  print("more bytes than the test's output has, which the limit holds for, too", Tensor<float, Shape<2000>>::zeros());
  const std::string good = text_of(folder / "full");
  const auto size = std::filesystem::file_size(folder / "full");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  std::string said, shown;
  rlimit small = before;
  small.rlim_cur = size + 10;
  said = support::printed_to(stderr, [&] {
    shown = support::printed_to(stdout, [&] {
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
      print("a text of more than ten bytes", x);
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
      Printing{}(x);
    });
  });
  std::signal(SIGXFSZ, old);
  CHECK(said.ends_with("] Cannot print to '" + folder / "full" +
                       "': File too large. What is printed goes to the screen from here on.\n"));
  CHECK(shown == "a text of more than ten bytes\nTensor(shape=[2], dtype=Float32, value=[ 2.00000000e+00  "
                 "3.00000000e+00])\n" +
                     on_screen);
  CHECK(std::filesystem::file_size(folder / "full") == size);
  CHECK(text_of(folder / "full") == good);
  CHECK(mode_of(folder / "full") == 0400);
}
TEST_CASE("a file that was removed") {
  const Folder folder;
  const ContextScope scope({.print_file_path = folder / "removed"});
  CHECK(printed() == "");
  std::filesystem::remove(folder / "removed");
  std::string shown;
  CHECK(warning([&] { shown = printed() + printed(); }) ==
        "Cannot print to '" + folder / "removed" +
            "': it was removed. What is printed goes to the screen from here on.\n");
  CHECK(shown == on_screen + on_screen);
}
TEST_CASE("a child of a fork leaves its parent's file alone") {
  const Folder folder;
  const ContextScope scope({.print_file_path = folder / "parent"});
  print("before", x);
  const std::string said = said_by_child([&] {
    print("by the child", x);
    print("again", x);
  });
  CHECK(said.find("Cannot print to '" + folder / "parent" + "': it belongs to the parent process.") != said.npos);
  CHECK(said.find("Cannot print") == said.rfind("Cannot print"));
  CHECK(said.find("by the child\n" + x_on_screen) != said.npos);
  CHECK(said.ends_with("again\n" + x_on_screen));
  CHECK(mode_of(folder / "parent") == 0600);
  print("after", x);
  CHECK(text_of(folder / "parent") == "before\n" + x_on_screen + "after\n" + x_on_screen);
  // a child that never prints does nothing to the file, either
  CHECK(said_by_child([] {}) == "");
  CHECK(mode_of(folder / "parent") == 0600);
  debug::close_print_file();
  CHECK(mode_of(folder / "parent") == 0400);
}
TEST_CASE("the end of a program ends the file; what statics print after that goes to the screen") {
  const Folder folder;
  const std::string said = said_by_child([&] {
    set_context({.print_file_path = folder / "child"});
    print("in the file", x);
    last_print.wanted = true;
  });
  CHECK(said == "late\n" + x_on_screen);
  CHECK(mode_of(folder / "child") == 0400);
  CHECK(text_of(folder / "child") == "in the file\n" + x_on_screen);
}
#else
TEST_CASE("protozero") { support::say_skipped("protozero is not installed, print files were not tested"); }
#endif
