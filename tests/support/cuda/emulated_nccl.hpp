// NCCL without a GPU: the functions that Tenon calls, between processes of one machine, through sockets. They check
// the rules of the library: sends and receives stand in groups, those of two ranks match, data are memory of the
// device, nothing is asked of the runtime while calls are in progress. As with ncclConfig_t::blocking = 0, calls
// return while a thread does the work.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cuda_runtime.h"
#include "emulated_libraries.hpp"

namespace emulator {

/// Tests set it.
struct NcclFaults {
  int version = 22803;
  long groups_until_break = -1;  // how many groups are done before the connection to another rank is lost
  bool is_stuck = false;         // groups are never done
};
inline NcclFaults nccl_faults;
/// Groups with sends or receives so far, and the bytes that left.
inline long nccl_groups = 0, nccl_bytes = 0;

struct NcclOperation {
  bool outgoing;
  int peer;
  std::byte* data;
  std::size_t bytes;
  std::size_t done = 0;  // of the head and the data
};
struct NcclId {
  char name[128];
};
struct NcclConfiguration {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};

class NcclComm {
 public:
  NcclComm(int ranks, int rank, const NcclId& id) : rank_(rank), sockets_(std::size_t(ranks), -1), id_(id) {
    start([this] { connect(); });
  }
  ~NcclComm() {
    stop_ = true;
    join();
    for (const int socket : sockets_)
      if (socket >= 0) ::close(socket);
  }
  int state() {
    const int now = state_;
    if (now != in_progress) join();
    return now;
  }
  void fail(int result, std::string why) { error_ = std::move(why), state_ = result; }
  const char* error() const { return error_.c_str(); }
  int ranks() const { return int(sockets_.size()); }
  bool is_rank(int peer) const { return peer >= 0 && peer < ranks() && peer != rank_; }
  void run(std::vector<NcclOperation> operations) {
    start([this, all = std::move(operations)]() mutable { exchange(all); });
  }
  bool finalized = false;

  static constexpr int success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5, remote_error = 6,
                       in_progress = 7;

 private:
  struct Head {
    std::uint64_t bytes;
  };
  template <class F>
  void start(F f) {
    join();
    state_ = in_progress, ++works_in_progress, counted_ = true;
    thread_ = std::thread(std::move(f));
  }
  void join() {
    if (thread_.joinable()) thread_.join();
    if (std::exchange(counted_, false)) --works_in_progress;
  }
  void pause() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
  sockaddr_un address(int rank, socklen_t& size) const {
    sockaddr_un where{AF_UNIX, {}};  // abstract: nothing is left behind
    const std::string name = std::string(id_.name) + "-" + std::to_string(rank);
    std::memcpy(where.sun_path + 1, name.data(), name.size());
    size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return where;
  }
  void connect() {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size;
    const sockaddr_un own = address(rank_, size);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&own), size) != 0 || ::listen(listener, 64) != 0)
      return fail(system_error, "no socket");
    for (int peer = 0; peer < rank_ && !stop_; ++peer) {
      const sockaddr_un where = address(peer, size);
      const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      while (!stop_ && ::connect(made, reinterpret_cast<const sockaddr*>(&where), size) != 0) pause();
      static_cast<void>(::send(made, &rank_, sizeof rank_, MSG_NOSIGNAL) == 0);
      sockets_[std::size_t(peer)] = made;
    }
    for (int left = ranks() - 1 - rank_; left > 0 && !stop_;) {
      const int made = ::accept(listener, nullptr, nullptr);
      int peer = -1;
      if (made < 0) pause();
      else if (::recv(made, &peer, sizeof peer, MSG_WAITALL) == sizeof peer) sockets_[std::size_t(peer)] = made, --left;
    }
    ::close(listener);
    for (const int socket : sockets_)
      if (socket >= 0) ::fcntl(socket, F_SETFL, O_NONBLOCK);
    state_ = success;
  }
  // Moves what can be moved. Between two ranks operations of one direction are in their order.
  void exchange(std::vector<NcclOperation>& all) {
    if (nccl_faults.groups_until_break == 0) return fail(remote_error, "connection to rank lost");
    if (nccl_faults.groups_until_break > 0) --nccl_faults.groups_until_break;
    for (std::size_t left = all.size(); left > 0 || nccl_faults.is_stuck;) {
      if (stop_) return;
      bool moved = false;
      std::vector<int> busy;
      for (NcclOperation& one : all) {
        if (one.done == sizeof(Head) + one.bytes) continue;
        const int lane = 2 * one.peer + one.outgoing;
        if (std::find(busy.begin(), busy.end(), lane) != busy.end()) continue;
        const int step = advance(one);
        if (step < 0) return;
        moved |= step > 0;
        if (one.done == sizeof(Head) + one.bytes) --left;
        else busy.push_back(lane);
      }
      if (!moved) pause();
    }
    state_ = success;
  }
  int advance(NcclOperation& one) {
    const int socket = sockets_[std::size_t(one.peer)];
    Head head{one.bytes};
    const bool in_head = one.done < sizeof head;
    std::byte* const from = in_head ? reinterpret_cast<std::byte*>(&head) : one.data + (one.done - sizeof head);
    const std::size_t size = in_head ? sizeof head : sizeof head + one.bytes - one.done;
    const ssize_t moved = one.outgoing ? ::send(socket, from, size, MSG_NOSIGNAL) : ::recv(socket, from, size, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (moved <= 0) return fail(remote_error, "connection closed by rank " + std::to_string(one.peer)), -1;
    if (!one.outgoing && in_head && head.bytes != one.bytes)
      return fail(invalid_usage, "rank " + std::to_string(one.peer) + " sends " + std::to_string(head.bytes) +
                                     " bytes, expected are " + std::to_string(one.bytes)),
             -1;
    one.done += std::size_t(moved);
    return 1;
  }

  int rank_;
  std::vector<int> sockets_;
  NcclId id_;
  std::atomic<int> state_ = in_progress;
  std::atomic<bool> stop_ = false;
  bool counted_ = false;
  std::string error_;
  std::thread thread_;
};

/// The group that this thread has begun.
struct NcclGroup {
  int depth = 0, result = NcclComm::success;
  NcclComm* comm = nullptr;
  std::vector<NcclOperation> operations{};
};
inline NcclGroup& nccl_group() {
  thread_local NcclGroup group;
  return group;
}
/// Whether a test asked a function to fail.
inline bool nccl_fails(const char* name) { return failing_function == name; }

inline int nccl_put(NcclComm* comm, NcclOperation operation, int type, const Stream* stream) {
  NcclGroup& group = nccl_group();
  const auto refuse = [&](const char* why) {
    comm->fail(NcclComm::invalid_usage, why);
    return group.result = NcclComm::invalid_usage;
  };
  if (group.depth == 0) return refuse("a send or receive outside of a group");
  if (comm->state() != NcclComm::success) return refuse("a send or receive while calls are in progress");
  if (group.comm && group.comm != comm) return refuse("two communicators in a group");
  if (!comm->is_rank(operation.peer) || type != 0 || !stream) return refuse("a wrong argument");
  if (!is_device_memory(operation.data, operation.bytes)) return refuse("data that are no memory of the device");
  group.comm = comm;
  group.operations.push_back(operation);
  return NcclComm::success;
}

// The functions of the library.
inline int nccl_get_version(int* version) { return *version = nccl_faults.version, NcclComm::success; }
inline int nccl_get_unique_id(NcclId* id) {
  if (nccl_fails("ncclGetUniqueId")) return NcclComm::system_error;
  unsigned long long number[2];
  static_cast<void>(::getrandom(number, sizeof number, 0) == 0);
  std::snprintf(id->name, sizeof id->name, "emulated-nccl-%016llx%016llx", number[0], number[1]);
  return NcclComm::success;
}
inline int nccl_comm_init_rank_config(NcclComm** comm, int ranks, NcclId id, int rank, NcclConfiguration* how) {
  if (nccl_fails("ncclCommInitRankConfig")) return NcclComm::system_error;
  if (how->magic != 0xcafebeef || how->size < sizeof *how || how->blocking != 0 || nccl_group().depth > 0)
    return NcclComm::invalid_argument;
  *comm = new NcclComm(ranks, rank, id);
  return NcclComm::in_progress;
}
inline int nccl_comm_get_async_error(NcclComm* comm, int* state) { return *state = comm->state(), NcclComm::success; }
inline int nccl_comm_abort(NcclComm* comm) { return delete comm, NcclComm::success; }
inline int nccl_comm_finalize(NcclComm* comm) {
  comm->finalized = true;
  return comm->state();
}
inline int nccl_comm_destroy(NcclComm* comm) {
  if (!comm->finalized) return NcclComm::invalid_usage;
  return delete comm, NcclComm::success;
}
inline const char* nccl_get_error_string(int result) {
  static const char* const text[]{"no error",
                                  "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                  "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                  "internal error",
                                  "invalid argument",
                                  "invalid usage",
                                  "remote process exited or there was a network error",
                                  "NCCL operation in progress"};
  return text[result];
}
inline const char* nccl_get_last_error(NcclComm* comm) { return comm ? comm->error() : ""; }
inline int nccl_group_start() {
  ++nccl_group().depth, ++open_groups;
  return NcclComm::success;
}
inline int nccl_group_end() {
  NcclGroup& group = nccl_group();
  if (group.depth == 0) return NcclComm::invalid_usage;
  --open_groups;
  if (--group.depth > 0) return NcclComm::success;
  const NcclGroup whole = std::exchange(group, {});
  if (nccl_fails("ncclGroupEnd")) return NcclComm::system_error;
  if (whole.result != NcclComm::success || !whole.comm) return whole.result;
  ++nccl_groups;
  for (const NcclOperation& one : whole.operations) nccl_bytes += one.outgoing ? long(one.bytes) : 0;
  whole.comm->run(whole.operations);
  return NcclComm::in_progress;
}
inline int nccl_send(const void* data, std::size_t count, int type, int peer, NcclComm* comm, Stream* stream) {
  return nccl_put(comm, {true, peer, static_cast<std::byte*>(const_cast<void*>(data)), count}, type, stream);
}
inline int nccl_recv(void* data, std::size_t count, int type, int peer, NcclComm* comm, Stream* stream) {
  return nccl_put(comm, {false, peer, static_cast<std::byte*>(data), count}, type, stream);
}
inline const bool has_nccl = [] {
  library_functions()["libnccl.so.2"] = {
      {"ncclGetVersion", as_symbol(nccl_get_version)},
      {"ncclGetUniqueId", as_symbol(nccl_get_unique_id)},
      {"ncclCommInitRankConfig", as_symbol(nccl_comm_init_rank_config)},
      {"ncclCommGetAsyncError", as_symbol(nccl_comm_get_async_error)},
      {"ncclCommAbort", as_symbol(nccl_comm_abort)},
      {"ncclCommFinalize", as_symbol(nccl_comm_finalize)},
      {"ncclCommDestroy", as_symbol(nccl_comm_destroy)},
      {"ncclGetErrorString", as_symbol(nccl_get_error_string)},
      {"ncclGetLastError", as_symbol(nccl_get_last_error)},
      {"ncclGroupStart", as_symbol(nccl_group_start)},
      {"ncclGroupEnd", as_symbol(nccl_group_end)},
      {"ncclSend", as_symbol(nccl_send)},
      {"ncclRecv", as_symbol(nccl_recv)},
  };
  return true;
}();

}  // namespace emulator
