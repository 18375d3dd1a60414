// Ends a child process at its N-th call that changes files: between any two of them, and in the middle of a write.
#pragma once
#include <csignal>
#include <cstdint>
#include <cstdio>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "../../support/sanitized.hpp"

namespace killed {

inline long calls_left = -1;  // before the end; below 0: there is none
inline bool in_the_middle = false;

/// True: this call is the last one.
inline bool is_last() { return calls_left >= 0 && calls_left-- == 0; }
[[noreturn]] inline void end() {
  ::kill(::getpid(), SIGKILL);
  ::_exit(99);  // not reached
}

/// Runs f in a child; its exit status, or minus the signal that ended it.
template <class F>
int in_child(F f) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 98;
    try {
      status = f();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Calls f in children that end at their first, second, ... call, and check() after each; until one reaches its end.
/// Returns how many were ended.
template <class F, class Check>
int at_each_call(F f, Check check) {
  int count = 0;
  for (const bool middle : {false, true})
    for (long calls = 0;; ++calls) {
      const int status = in_child([&] {
        calls_left = calls;
        in_the_middle = middle;
        f();
        return 0;
      });
      check();
      if (status == 0) break;
      REQUIRE(status == -SIGKILL);
      ++count;
    }
  return count;
}

}  // namespace killed

// The sanitizers have these functions of their own. Without them a test must say that it was not run.
#if defined(KILL_AT_CALLS)
extern "C" {
ssize_t write(int file, const void* bytes, size_t count) {
  if (killed::is_last()) {
    if (killed::in_the_middle) ::syscall(SYS_write, file, bytes, count / 2);
    killed::end();
  }
  return ::syscall(SYS_write, file, bytes, count);
}
ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
  if (killed::is_last()) {
    if (killed::in_the_middle) ::syscall(SYS_pwrite64, file, bytes, count / 2, at);
    killed::end();
  }
  return ::syscall(SYS_pwrite64, file, bytes, count, at);
}
ssize_t writev(int file, const iovec* parts, int count) {
  if (killed::is_last()) {
    if (killed::in_the_middle) ::syscall(SYS_writev, file, parts, count / 2);
    killed::end();
  }
  return ::syscall(SYS_writev, file, parts, count);
}
int fsync(int file) {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_fsync, file));
}
int ftruncate(int file, off_t size) noexcept {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}
int rename(const char* from, const char* to) noexcept {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_rename, from, to));
}
int unlink(const char* path) noexcept {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_unlink, path));
}
int rmdir(const char* path) noexcept {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_rmdir, path));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (killed::is_last()) killed::end();
  return static_cast<int>(::syscall(SYS_mkdir, path, mode));
}
}
#endif
