// Whole files: what is written is read, and whatever fails leaves the old file and no other.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../dataset/support.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

namespace support {
/// On a file system without second names, what another process makes at the moment when somebody has looked for it.
inline std::string appears;
}  // namespace support
/// In place of the C library's.
extern "C" int link(const char* from, const char* to) noexcept {
  if (support::appears.empty()) return ::linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
  errno = EPERM;
  return -1;
}
extern "C" int lstat(const char* path, struct stat* status) noexcept {
  if (path != support::appears) return ::fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
  errno = ENOENT;
  return -1;
}

using namespace support;

namespace {

std::string bytes(std::size_t count) {
  std::string content(count, '\0');
  for (std::size_t i = 0; i < count; ++i) content[i] = static_cast<char>(i * 31 + i / 256);
  return content;
}
void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
std::span<const std::byte> part(const std::string& s) { return std::as_bytes(std::span(s)); }

}  // namespace

TEST_CASE("what is written is read, over an older file too") {
  const Folder folder;
  const std::string path = folder / "a";
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 1000003u, 7u}) {
    io::write_file(path, bytes(size));
    CHECK(io::read_file(path, 1000003) == bytes(size));
    CHECK(io::file_exists(path));
    CHECK(folder.files() == 1);
  }
}

TEST_CASE("parts are joined, empty ones too") {
  const Folder folder;
  const std::string a = "head", b, c = bytes(100000);
  const std::span<const std::byte> parts[]{part(a), part(b), part(c), part(a)};
  io::write_file(folder / "joined", parts);
  CHECK(io::read_file(folder / "joined") == a + c + a);
  io::write_file(folder / "joined", std::span<const std::span<const std::byte>>());
  CHECK(io::read_file(folder / "joined").empty());
}

TEST_CASE("what a killed process leaves is removed by the next one to write there; what a living one writes is not") {
  const Folder folder;
  const pid_t killed = ::fork();
  if (killed == 0) {
    io::detail::TemporaryFile file(folder / "net");
    file.write(part(bytes(1000)));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(killed, &status, 0) == killed);
  REQUIRE(WIFSIGNALED(status));
  CHECK(folder.files() == 1);
  {
    const io::detail::TemporaryFile being_written(folder / "other");  // by this process
    const std::string of_init = folder / ".tenon-1-0.tmp", mine = folder / ".tenon-x.tmp";
    std::ofstream(of_init) << "kept";  // process 1 lives
    std::ofstream(mine) << "kept";     // another name
    // held by somebody whose number says nothing here
    const std::string held = folder / text(".tenon-", killed, "-77.tmp");
    const io::FileHandle holder(::open(held.c_str(), O_CREAT | O_RDWR, 0600));
    REQUIRE(::flock(holder.get(), LOCK_EX) == 0);
    CHECK(folder.files() == 5);
    io::write_file(folder / "net", "done");
    CHECK(folder.files() == 5);  // without the one of the killed process, with the new one
    CHECK((io::file_exists(of_init) && io::file_exists(mine) && io::file_exists(held)));
  }
  io::write_file(folder / "net", "done again");
  CHECK(folder.files() == 3);
}

TEST_CASE("a name that must be free: nothing is lost that another process has put there, also without second names") {
  const Folder folder;
  const std::string path = folder / "list";
  for (const bool second_names : {true, false}) {
    if (!second_names) {  // the old way, to look and to rename, is for what knows no other
      put(folder / "a", "a"), put(folder / "b", "b");
      if (::renameat2(AT_FDCWD, (folder / "a").c_str(), AT_FDCWD, (folder / "b").c_str(), 1) == 0 || errno != EEXIST) {
        support::say_skipped("this file system has no rename that spares a file");
        break;
      }
      std::filesystem::remove(folder / "a"), std::filesystem::remove(folder / "b");
      appears = path;
    }
    put(path, "another one's");
    {
      io::detail::TemporaryFile file(path);
      file.write(part("mine"));
      CHECK_FALSE(file.move_to_free(path));
      CHECK(io::read_file(path) == "another one's");
      std::filesystem::remove(path);
      CHECK(file.move_to_free(path));
      CHECK(io::read_file(path) == "mine");
    }
    CHECK(folder.files() == 1);
    appears.clear();
  }
}

TEST_CASE("a file larger than the limit is refused, by its size alone") {
  const Folder folder;
  io::write_file(folder / "ten", "0123456789");
  CHECK(io::read_file(folder / "ten", 10) == "0123456789");
  const std::string said = message<RuntimeError>([&] { io::read_file(folder / "ten", 9); });
  CHECK(has(said, folder / "ten"));
  CHECK(has(said, "it has 10 bytes, at most 9"));
  std::filesystem::resize_file(folder / "ten", std::uintmax_t{1} << 40);  // a hole: a terabyte without a block
  CHECK(has(message<RuntimeError>([&] { io::read_file(folder / "ten"); }), "1099511627776 bytes"));
}

TEST_CASE("a stream is read to its end, and no further than the limit") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string sent = bytes(300000);
  for (const std::uint64_t limit : {300000u, 299999u}) {
    std::thread writer([&] {
      std::signal(SIGPIPE, SIG_IGN);
      const int out = ::open((folder / "pipe").c_str(), O_WRONLY);
      for (std::size_t done = 0; done < sent.size();) {
        const ssize_t count = ::write(out, sent.data() + done, sent.size() - done);
        if (count < 0) break;
        done += static_cast<std::size_t>(count);
      }
      ::close(out);
    });
    std::string got;
    const std::string said = message<RuntimeError>([&] { got = io::read_file(folder / "pipe", limit); });
    writer.join();
    if (limit == 300000) CHECK(got == sent);
    else CHECK(has(said, "more than 299999"));
  }
}

TEST_CASE("files of /proc say size 0 and have content") {
  CHECK(io::read_file("/proc/self/status").find("Name:") != std::string::npos);
}

TEST_CASE("what cannot be read is named, with the reason") {
  const Folder folder;
  CHECK(has(message<RuntimeError>([&] { io::read_file(folder / "none"); }),
            text("'", folder / "none", "': No such file or directory")));
  CHECK(has(message<RuntimeError>([&] { io::read_file(folder.path); }), "it is a directory"));
  CHECK(has(message<ValueError>([] { io::read_file(""); }), "empty"));
  CHECK(has(message<ValueError>([] { io::read_file(std::string("a\0b", 3)); }), "zero byte"));
}

TEST_CASE("what cannot be written is named, the old file stays, no other is left") {
  const Folder folder;
  CHECK(has(message<RuntimeError>([&] { io::write_file(folder / "none/file", "x"); }),
            text("'", folder / "none/file", "': No such file or directory")));
  CHECK(has(message<RuntimeError>([&] { io::write_file(folder.path, "x"); }), "it is a directory"));
  CHECK(has(message<ValueError>([] { io::write_file("", "x"); }), "empty"));

  io::write_file(folder / "old", "old");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);  // the disk is full after 1000 bytes
  const std::string said = message<RuntimeError>([&] { io::write_file(folder / "old", bytes(5000)); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(has(said, text("'", folder / "old", "': File too large")));
  CHECK(io::read_file(folder / "old") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("whether a file can be written is known before, and asking leaves no trace") {
  const Folder folder;
  io::write_file(folder / "old", "old");
  io::check_writable(folder / "old");
  io::check_writable(folder / "new");
  CHECK(io::read_file(folder / "old") == "old");
  CHECK(folder.files() == 1);
  CHECK(has(message<RuntimeError>([&] { io::check_writable(folder / "none/file"); }),
            text("'", folder / "none/file", "': No such file or directory")));
  CHECK(has(message<RuntimeError>([&] { io::check_writable(folder.path); }), "it is a directory"));
  CHECK(has(message<ValueError>([] { io::check_writable(""); }), "empty"));
}

TEST_CASE("no file takes the place of a device, a pipe, or a socket") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("pipe", folder / "link");
  for (const std::string& path : {folder / "pipe", folder / "link"}) {
    CHECK(has(message<RuntimeError>([&] { io::write_file(path, "x"); }),
              text("Cannot write '", path, "': it is a device, a pipe, or a socket")));
    CHECK(std::filesystem::is_fifo(path));
  }
  CHECK(std::filesystem::is_symlink(folder / "link"));
  for (const char* path : {"/dev/null", "/dev/stdout", "/dev/tenon-test"})
    CHECK(has(message<RuntimeError>([&] { io::check_writable(path); }), "it is a device"));
}

TEST_CASE("a name as long as a name can be") {
  const Folder folder;
  const std::string path = folder / std::string(255, 'n');
  io::write_file(path, "x");
  CHECK(io::read_file(path) == "x");
}

TEST_CASE("the mode of the old file stays, a new file obeys the umask") {
  const Folder folder;
  const auto mode = [&] { return static_cast<unsigned>(std::filesystem::status(folder / "m").permissions()); };
  const mode_t mask = ::umask(027);
  io::write_file(folder / "m", "x");
  ::umask(mask);
  CHECK(mode() == 0640);
  std::filesystem::permissions(folder / "m", std::filesystem::perms(0604));
  io::write_file(folder / "m", "y");
  CHECK(mode() == 0604);
}

TEST_CASE("many writers of one file: a reader sees one of their files, whole") {
  const Folder folder;
  io::write_file(folder / "f", std::string(20000, 'a'));
  std::vector<std::thread> writers;
  for (char c : {'b', 'c', 'd'})
    writers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) io::write_file(folder / "f", std::string(20000, c));
    });
  bool whole = true;
  for (int i = 0; i < 200; ++i) {
    const std::string content = io::read_file(folder / "f");
    whole = whole && content.size() == 20000 && content.find_first_not_of(content[0]) == std::string::npos;
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(whole);
  CHECK(folder.files() == 1);
}

TEST_CASE("paths") {
  CHECK(io::join_path("a", "b") == "a/b");
  CHECK(io::join_path("a/", "b") == "a/b");
  CHECK(io::join_path("", "b") == "b");
  CHECK(io::directory_of("a/b/c") == "a/b");
  CHECK(io::directory_of("c") == ".");
  CHECK(io::directory_of("/c") == "/");
  CHECK(io::directory_exists("/"));
  CHECK_FALSE(io::file_exists("/"));
}

TEST_CASE("directories are made with those above them; a path where there can be none is false, with the reason") {
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  for (const char* path : {"a/b", "c", "a/b", "d/", "./e//f/./g/", "/"}) CHECK(io::make_directories(path));
  for (const char* path : {"a/b", "c", "d", "e/f/g"}) CHECK(io::directory_exists(folder / path));
  std::filesystem::create_directory_symlink("a", "link");
  CHECK(io::make_directories("link/h", 0700));
  CHECK((std::filesystem::status("a/h").permissions() & std::filesystem::perms::all) ==
        std::filesystem::perms::owner_all);
  io::write_file("file", "x");
  for (const char* path : {"file", "file/a", "file/a/b"}) {
    CHECK(!io::make_directories(path));
    CHECK(errno == ENOTDIR);
  }
  CHECK(!io::make_directories(""));
  CHECK(errno == ENOENT);
  CHECK(!io::make_directories(std::string(5000, 'a')));
  CHECK(errno == ENAMETOOLONG);
  std::filesystem::current_path(before);
}
