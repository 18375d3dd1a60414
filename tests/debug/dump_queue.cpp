// The files of a dump onto disks that are slow, full, read-only, or gone.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/debug/dump/dump_queue.hpp>

#include "../support/few_threads.hpp"
#include "../support/peak_memory.hpp"

using namespace tenon;
using namespace tenon::debug;
namespace fs = std::filesystem;

namespace {
enum class Disk { good, slow, create_fails, full, half_full, rename_fails };
std::atomic<Disk> disk{Disk::good};
std::atomic<int> warnings{0};

int fail(int reason) {
  errno = reason;
  return -1;
}
}  // namespace

// The program's own functions stand before those of the C library.
extern "C" {
int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
  va_end(more);
  if ((flags & O_CREAT) && disk == Disk::create_fails) return fail(EROFS);
  return int(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int file, const void* data, size_t count) {
  if (file == STDERR_FILENO) {
    const std::string_view line(static_cast<const char*>(data), count);
    if (line.find("The dump ends here") != line.npos) ++warnings;
    return ::syscall(SYS_write, file, data, count);
  }
  if (disk == Disk::full) return fail(ENOSPC);
  if (disk == Disk::half_full && count > 100) {
    disk = Disk::full;
    return ::syscall(SYS_write, file, data, count / 2);
  }
  return ::syscall(SYS_write, file, data, count);
}
int rename(const char* from, const char* to) noexcept {
  if (disk == Disk::rename_fails) return fail(EACCES);
  if (disk == Disk::slow) ::usleep(2000);
  return int(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace {
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tenon_dump_writer_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(int i) const { return (path / (std::to_string(i) + ".npy")).string(); }
  long files() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};
std::vector<std::byte> bytes(std::size_t count, int value) { return std::vector<std::byte>(count, std::byte(value)); }
}  // namespace

TEST_CASE("files appear with their mode and both parts, in folders that are made") {
  for (const bool async : {false, true}) {
    const Folder folder;
    DumpQueue writer(async);
    writer.make_folder((folder.path / "a/b").string());
    writer.write((folder.path / "a/b/x").string(), "head", bytes(3, 'y'));
    writer.write((folder.path / "a/b/empty").string(), "");
    writer.finish();
    CHECK(io::read_file((folder.path / "a/b/x").string()) == "headyyy");
    CHECK(fs::file_size(folder.path / "a/b/empty") == 0);
    CHECK(fs::status(folder.path / "a/b/x").permissions() == fs::perms::owner_read);
    CHECK(!writer.failed());
  }
}

TEST_CASE("onto a slow disk nothing is lost, and what waits stays within its bound") {
  const Folder folder;
  constexpr int count = 200;
  constexpr std::size_t size = 100'000, most = 1'000'000;
  disk = Disk::slow;
  const long peak = support::peak_of([&] {
    DumpQueue writer(true, most);
    std::thread other([&] {
      for (int i = count; i < 2 * count; ++i) writer.write(folder.file(i), "", bytes(size, i));
    });
    for (int i = 0; i < count; ++i) writer.write(folder.file(i), "", bytes(size, i));
    other.join();
  });
  disk = Disk::good;
  CHECK(folder.files() == 2 * count);
  for (int i = 0; i < 2 * count; ++i) CHECK(io::read_file(folder.file(i)) == std::string(size, static_cast<char>(i)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // the queue, and of each thread the tensor that it brings and its copy of it
  CHECK(peak < long(most + 5 * size));
  CHECK(peak > long(most / 2));
#else
  static_cast<void>(peak);
#endif
}

TEST_CASE("where the system makes no more threads, the one that brings a file writes it") {
  const Folder folder;
  const support::FewThreads none(0);
  warnings = 0;
  DumpQueue writer(true);
  for (int i = 0; i < 3; ++i) writer.write(folder.file(i), "", bytes(10, 'a' + i));
  writer.append(folder.file(0), "b");
  CHECK(io::read_file(folder.file(0)) == "aaaaaaaaaab");
  CHECK(folder.files() == 3);
  writer.finish();
  CHECK(!writer.failed());
  CHECK(warnings == 0);
}

TEST_CASE("a file that is larger than the bound is written all the same") {
  const Folder folder;
  DumpQueue writer(true, 1000);
  for (int i = 0; i < 5; ++i) writer.write(folder.file(i), "", bytes(10'000, i));
  writer.finish();
  CHECK(folder.files() == 5);
}

TEST_CASE("what fails ends the dump with one warning; nothing is half-written, what was there stays") {
  for (const bool async : {false, true})
    for (const Disk how : {Disk::create_fails, Disk::full, Disk::half_full, Disk::rename_fails}) {
      CAPTURE(async);
      CAPTURE(int(how));
      const Folder folder;
      warnings = 0;
      DumpQueue writer(async, 50'000);
      writer.write(folder.file(0), "", bytes(1000, 1));
      writer.finish();
      disk = how;
      for (int i = 1; i < 20; ++i) writer.write(folder.file(i), "", bytes(1000, 1));
      writer.finish();
      disk = Disk::good;
      writer.write(folder.file(20), "", bytes(1000, 1));
      writer.make_folder((folder.path / "later").string());
      writer.finish();
      CHECK(writer.failed());
      CHECK(warnings == 1);
      CHECK(folder.files() == 1);
      CHECK(io::read_file(folder.file(0)).size() == 1000);
    }
}

TEST_CASE("a folder that is removed while files wait for it") {
  for (const bool async : {false, true}) {
    const Folder folder;
    warnings = 0;
    DumpQueue writer(async);
    writer.write(folder.file(0), "x");
    writer.finish();
    fs::remove_all(folder.path);
    for (int i = 1; i < 10; ++i) writer.write(folder.file(i), "x");
    writer.finish();
    CHECK(warnings == 1);
    CHECK(!fs::exists(folder.path));
  }
}

TEST_CASE("a folder that cannot be made") {
  const Folder folder;
  warnings = 0;
  io::write_file((folder.path / "file").string(), "x");
  DumpQueue writer(false);
  writer.make_folder((folder.path / "file/below").string());
  CHECK(writer.failed());
  CHECK(warnings == 1);
}

TEST_CASE("lines at the end of a file, which keeps its mode") {
  for (const bool async : {false, true}) {
    const Folder folder;
    DumpQueue writer(async);
    writer.write(folder.file(0), "0\n");
    for (int i = 1; i < 5; ++i) writer.append(folder.file(0), text(i, "\n"));
    writer.finish();
    CHECK(io::read_file(folder.file(0)) == "0\n1\n2\n3\n4\n");
    CHECK(fs::status(folder.file(0)).permissions() == fs::perms::owner_read);
    writer.append(folder.file(1), "x");
    writer.finish();
    CHECK(writer.failed());
  }
}

TEST_CASE("a child of the process, which has no writing thread, writes by itself and ends") {
  const Folder folder;
  std::optional<DumpQueue> writer(std::in_place, true, 1000);
  writer->write(folder.file(0), "x");
  writer->finish();
  std::fflush(nullptr);  // or the child says again what waits there
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    for (int i = 1; i < 50; ++i) writer->write(folder.file(i), std::string(500, 'y'));
    const bool failed = writer->failed();
    writer.reset();
    std::exit(failed ? 1 : 0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(folder.files() == 50);
}
