// Paths that a process writes alone: two processes, a killed one, a child, something else of the lock's name.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../dataset/support.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include <tenon/io/path/own_path.hpp>

#include "../../support/sanitized.hpp"
#include "../../support/skip.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {
/// Runs f in a child that lives until the end of the scope.
class Other {
 public:
  explicit Other(const std::function<void()>& f) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(STDERR_FILENO);
      f();
      static_cast<void>(::write(ends[1], "x", 1) == 1);
      for (;;) ::pause();
    }
    char x;
    REQUIRE(::read(ends[0], &x, 1) == 1);
    ::close(ends[0]), ::close(ends[1]);
  }
  ~Other() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_ = 0;
};
}  // namespace

TEST_CASE("a file that another process writes has another name; a killed process keeps none") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string a = folder / "report.html", b = folder / "plain", c = folder / ".hidden";
  {
    const Other other([&] { io::own_file(a), io::own_file(b), io::own_file(c); });
    CHECK(io::own_file(a) == folder / "report_1.html");
    CHECK(io::own_file(a) == folder / "report_1.html");  // the same for the same process
    CHECK(io::own_file(folder / "report_1.html") == folder / "report_1.html");
    CHECK(io::own_file(b) == folder / "plain_1");
    CHECK(io::own_file(c) == folder / ".hidden_1");
    const Other third([&] { io::write_file(io::own_file(a), "third"); });
    CHECK(fs::exists(folder / "report_2.html"));
  }
  // both were killed
  const Other again([&] { io::write_file(io::own_file(a), "again"); });
  CHECK(fs::exists(a));
}
TEST_CASE("a folder that another process writes has a folder for each other process") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string path = folder / "graphs";
  {
    const Other other([&] { io::own_folder(path); });
    CHECK(io::own_folder(path) == path + "/run_1");
    CHECK(io::own_folder(path) == path + "/run_1");
    CHECK(fs::is_directory(path + "/run_1"));
  }
  const Other again([&] { io::write_file(io::join_path(io::own_folder(path), "x"), ""); });
  CHECK(fs::exists(path + "/x"));
  CHECK(std::distance(fs::recursive_directory_iterator(path), {}) == 2);  // no lock file
}
TEST_CASE("a child owns nothing that its parent owns, and takes nothing away") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string path = folder / "w";
  REQUIRE(io::own_file(path) == path);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    std::exit(io::own_file(path) == path + "_1" ? 0 : 1);  // which gives back
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(fs::exists(folder / ".w.lock"));
  CHECK_FALSE(fs::exists(folder / ".w_1.lock"));
  CHECK(io::own_file(path) == path);
}
TEST_CASE("two spellings of a path are one, and one spelling in two folders is two") {
  const Folder folder;
  fs::create_directories(folder / "a");
  fs::create_directory_symlink(folder / "a", folder / "link");
  const std::string file = folder / "a/best.safetensors";
  for (const std::string& one :
       {file, folder / "a/./best.safetensors", folder / "a//best.safetensors", folder / "link/best.safetensors"})
    CHECK(io::own_file(one) == one);
  const std::string graphs = folder / "a/graphs";
  for (const std::string& one : {graphs, graphs + "/", folder / "link/graphs"}) CHECK(io::own_folder(one) == one);
  CHECK_FALSE(fs::exists(graphs + "/run_1"));

  const fs::path before = fs::current_path();
  fs::create_directories(folder / "b");
  fs::current_path(folder / "a");
  CHECK(io::own_file("best.safetensors") == "best.safetensors");
  CHECK(io::own_file("w") == "w");
  fs::current_path(folder / "b");
  CHECK(io::own_file("w") == "w");
  CHECK(fs::exists(".w.lock"));
  fs::current_path(before);
}
TEST_CASE("a name beside a path that another process writes is spelt as the path is") {
  if (support::sanitized) return support::say_skipped("a child of a process with a sanitizer's threads may hang");
  const Folder folder;
  const std::string file = folder / "w.txt", graphs = folder / "graphs";
  const Other other([&] { io::own_file(file), io::own_folder(graphs); });
  CHECK(io::own_file(file) == folder / "w_1.txt");
  CHECK(io::own_file(folder / "./w.txt") == folder / "./w_1.txt");
  CHECK(io::own_folder(graphs) == graphs + "/run_1");
  CHECK(io::own_folder(folder / "./graphs") == folder / "./graphs/run_1");
  CHECK(io::own_folder(graphs + "/run_1") == graphs + "/run_1");
}
TEST_CASE("where there can be no lock the path stays what it is") {
  const Folder folder;
  CHECK(io::own_file(folder / "absent/w") == folder / "absent/w");
  std::ofstream(folder / "file") << "x";
  CHECK(io::own_folder(folder / "file") == folder / "file");
  fs::create_directories(folder / ".w.lock");
  CHECK(io::own_file(folder / "w") == folder / "w_1");
}
TEST_CASE("files that killed processes of this one's number have left go") {
  const Folder folder;
  const std::string left = folder / text(".tenon-", ::getpid(), "-77777.tmp");
  std::ofstream(left) << "x";
  const io::detail::TemporaryFile alive(folder / "b");
  io::write_file(folder / "a", "x");
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(alive.path()));
}
