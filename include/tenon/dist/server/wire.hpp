// What the processes of a parameter server send each other: structures of a fixed size, in the byte order of one
// machine. Bodies of tensors follow them.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dist {

/// What a process of a parameter server does.
enum class Role : std::int32_t { none, scheduler, server, worker };

namespace detail {
inline constexpr std::uint64_t wire_magic = 0x31737076726e6574;  // of this version of the messages

/// "server 1"; there is one scheduler.
inline std::string role_name(Role role, int rank) {
  if (role == Role::scheduler) return "the scheduler";
  return (role == Role::server ? "server " : "worker ") + std::to_string(rank);
}

template <std::size_t N>
void write_text(char (&to)[N], std::string_view from) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), from.size() < N ? from.size() : N - 1);
}
template <std::size_t N>
std::string read_text(const char (&from)[N]) {
  return {from, strnlen(from, N)};
}

/// A process says that it is there, and in its first ones that it wants a place.
struct Beat {
  std::uint64_t magic = wire_magic, job = 0, incarnation = 0;
  Role role = Role::none;
  std::int32_t rank = -1, servers = 0, workers = 0;
  std::int32_t runs = 0;   // trainings that a worker has ended, or which one a server serves
  std::int32_t ended = 0;  // the program, by itself
  char address[72]{};      // of a server
};

enum class Presence : std::int32_t { absent, here, silent, ended };
/// What the scheduler knows of a server or worker.
struct Member {
  std::uint64_t incarnation = 0;
  std::int64_t silent_ms = 0;
  Presence presence = Presence::absent;
  std::int32_t runs = 0;
  char address[72]{};
};
/// The scheduler's answer: the place of who asks, or why it gets none. All servers, then all workers follow.
struct TableHead {
  std::uint64_t magic = wire_magic, job = 0;
  std::int32_t rank = -1, members = 0;
  std::int32_t servers = 0, workers = 0;  // that are there, with or without a place
  char refusal[256]{};
};

/// In the order in which a worker asks for them in a step.
enum class Ask : std::int32_t { begin, push, stop, end_epoch, stop_epoch, finish, state };
/// Where a training is: a worker's Progress before a step.
struct Place {
  std::int64_t dataset_epoch = 0, epochs = 0, steps = 0, run_steps = 0;
};
/// A worker asks a server.
struct RequestHead {
  std::uint64_t magic = wire_magic, model = 0;
  Ask ask = Ask::begin;
  std::int32_t worker = 0;
  std::int64_t run = 0, step = 0;  // the step that is to be done, or that has been done, of the Model
  std::int64_t batch = 0, epochs = 0, batches = 0;
  std::uint64_t samples = 0, weights = 0;  // some of their bits
  std::uint64_t settings = 0;              // those of the settings of cells
  Place place;
  double scale[5]{};                   // the loss scale
  std::int32_t vote = 0, padding = 0;  // to stop; before a run: the worker has missed one, when it was started again
  std::int64_t numbers = 0;            // bytes of them in each node

  /// Requests of a run come in the order of their keys.
  std::int64_t key() const { return step * 8 + std::int64_t(ask); }
};
/// What a server answers: an error has its sentence as body.
enum class Answer : std::int32_t { done, joined, over, error };
struct ReplyHead {
  std::uint64_t magic = wire_magic;
  std::int64_t run = 0, step = 0;
  Ask ask = Ask::begin;
  Answer answer = Answer::done;
  std::int32_t vote = 0, padding = 0;
};
}  // namespace detail

}  // namespace tenon::dist
