// graph_svg: has Graphviz draw a picture, where it is installed.
#pragma once
#include <string>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/io/file.hpp>
#endif

#if TENON_DEFINES
extern "C" char** environ;
#endif

namespace tenon::inline TENON_ABI::debug {

/// What became of a picture.
enum class Drawn : signed char { done, no_graphviz, too_slow, failed };

/// Draws `dot_file` as `svg_file` with Graphviz's `dot`, which is looked for in PATH and called without a shell. It
/// gets `seconds` to do so; if it needs longer, it is ended. Unless it is done, there is no svg_file of it.
Drawn draw_svg(const std::string& dot_file, const std::string& svg_file, double seconds = 20);

#if TENON_DEFINES
namespace detail {
/// Starts a program with nothing to read and nothing to say; the error number of the system.
[[gnu::cold]] inline int start_quietly(pid_t& process, const char* const* arguments) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error =
      ::posix_spawnp(&process, arguments[0], &files, nullptr, const_cast<char* const*>(arguments), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}
/// Whether it has ended well; waits no longer than that.
[[gnu::cold]] inline Drawn wait_for(pid_t process, double seconds) {
  constexpr long tick = 5'000'000;  // nanoseconds
  for (double waited = 0;; waited += 1e-9 * tick) {
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Drawn::done : Drawn::failed;
    if (ended < 0 && errno != EINTR) return Drawn::failed;  // another thread has waited for it
    if (waited > seconds) break;
    const std::timespec pause{0, tick};
    ::nanosleep(&pause, nullptr);
  }
  ::kill(process, SIGKILL);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Drawn::too_slow;
}
}  // namespace detail

[[gnu::cold, gnu::noinline]] TENON_INLINE Drawn draw_svg(const std::string& dot_file, const std::string& svg_file,
                                                         double seconds) try {
  io::detail::TemporaryFile unfinished(svg_file);
  const char* const arguments[]{"dot", "-Tsvg", "-o", unfinished.path().c_str(), dot_file.c_str(), nullptr};
  pid_t process = 0;
  const int error = detail::start_quietly(process, arguments);
  Drawn drawn = error == ENOENT ? Drawn::no_graphviz : Drawn::failed;
  if (error == 0) drawn = detail::wait_for(process, seconds);
  if (drawn != Drawn::done) return drawn;
  if (io::size_of_file(unfinished.handle(), svg_file) == 0) return Drawn::failed;
  unfinished.move_into_place();
  return drawn;
} catch (const Error&) {
  return Drawn::failed;
}
#endif  // TENON_DEFINES

}  // namespace tenon::debug
