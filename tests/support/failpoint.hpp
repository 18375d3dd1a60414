// A process that kills itself with SIGKILL at a chosen place inside of write, fsync, rename, or unlink, or stops there
// with SIGSTOP until somebody sends it SIGCONT. To be included by one source of a program: its own functions stand
// before those of the C library, also for libraries such as SQLite.
#pragma once
#include <atomic>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace support {

/// In the `number`-th call of a function, before it, in its middle, or behind it.
enum class SystemCall { none, write, fsync, rename, unlink };
enum class Moment { before, half_way, behind };
struct Failpoint {
  SystemCall call = SystemCall::none;
  Moment moment = Moment::before;
  long number = 0;
  int signal = SIGKILL;
};
inline Failpoint failpoint;
inline std::atomic<long> calls{0};

/// All places.
struct Phase {
  const char* name;
  SystemCall call;
  Moment moment;
};
inline constexpr Phase phases[]{
    {"before write", SystemCall::write, Moment::before},   {"half-way in write", SystemCall::write, Moment::half_way},
    {"behind write", SystemCall::write, Moment::behind},   {"before fsync", SystemCall::fsync, Moment::before},
    {"behind fsync", SystemCall::fsync, Moment::behind},   {"before rename", SystemCall::rename, Moment::before},
    {"behind rename", SystemCall::rename, Moment::behind}, {"before unlink", SystemCall::unlink, Moment::before},
    {"behind unlink", SystemCall::unlink, Moment::behind}};

namespace detail {
/// True if this is the call.
inline bool is_it(SystemCall call) { return failpoint.call == call && ++calls == failpoint.number; }
inline void die() {
  ::kill(::getpid(), failpoint.signal);
  while (failpoint.signal == SIGKILL) ::pause();
}
template <class F>
auto at(SystemCall call, F real) {
  const bool now = is_it(call);
  if (now && failpoint.moment == Moment::before) die();
  const auto result = real();
  if (now && failpoint.moment != Moment::before) die();
  return result;
}
template <class F>
ssize_t at_write(std::size_t count, F real) {
  if (failpoint.call != SystemCall::write || failpoint.moment != Moment::half_way)
    return at(SystemCall::write, [&] { return real(count); });
  const bool now = is_it(SystemCall::write);
  const ssize_t result = real(now ? count / 2 : count);
  if (now) die();
  return result;
}
}  // namespace detail

}  // namespace support

extern "C" {
ssize_t write(int file, const void* data, size_t count) {
  return support::detail::at_write(count, [&](std::size_t n) { return ssize_t(::syscall(SYS_write, file, data, n)); });
}
ssize_t pwrite(int file, const void* data, size_t count, off_t place) {
  return support::detail::at_write(
      count, [&](std::size_t n) { return ssize_t(::syscall(SYS_pwrite64, file, data, n, place)); });
}
ssize_t pwrite64(int file, const void* data, size_t count, off64_t place) { return ::pwrite(file, data, count, place); }
int fsync(int file) {
  return support::detail::at(support::SystemCall::fsync, [&] { return int(::syscall(SYS_fsync, file)); });
}
int rename(const char* from, const char* to) noexcept {
  return support::detail::at(support::SystemCall::rename,
                             [&] { return int(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}
int unlink(const char* path) noexcept {
  return support::detail::at(support::SystemCall::unlink,
                             [&] { return int(::syscall(SYS_unlinkat, AT_FDCWD, path, 0)); });
}
}
