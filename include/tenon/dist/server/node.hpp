// init_parameter_server: this process as the scheduler, a server, or a worker. Needs libzmq (component `zmq`).
#pragma once
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include <tenon/core/process_rank.hpp>
#include <tenon/core/thread/threads.hpp>
#include <tenon/dist/server/scheduler.hpp>
#include <tenon/dist/timeout.hpp>

namespace tenon::inline TENON_ABI::dist {

/// How the processes of a parameter server wait for each other: `init_parameter_server({.timeout_seconds = 600})`.
struct ParameterServerOptions {
  /// For how long they wait for one that is not there: at the start, and after its death for its restart. Infinity: for
  /// ever.
  double timeout_seconds = 60;
};

namespace detail {
/// The address of a machine, and that by which this one reaches it, as texts; empty if it does not.
struct Reach {
  std::string host, own;
};
[[gnu::cold]] inline std::string address_text(const sockaddr* address) {
  sockaddr_in words;
  std::memcpy(&words, address, sizeof words);
  char text[INET_ADDRSTRLEN]{};
  return ::inet_ntop(AF_INET, &words.sin_addr, text, sizeof text) ? text : "";
}
[[gnu::cold]] inline Reach reach(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
  Reach addresses;
  sockaddr own{};
  socklen_t size = sizeof own;
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM, 0);  // which sends nothing
  if (::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 && ::getsockname(descriptor, &own, &size) == 0)
    addresses = {address_text(found->ai_addr), address_text(&own)};
  ::close(descriptor);
  ::freeaddrinfo(found);
  return addresses;
}

/// This process among those of the parameter server. A thread of its own tells the scheduler ten times a second that
/// it is there, or is the scheduler.
class ServerNode {
 public:
  ServerNode(const ServerEnvironment& found, const ParameterServerOptions& how)
      : environment(found), options(how), members(found), reach_(reach_scheduler()) {
    static_cast<void>(zmq_context());  // made before, and so ended after this
    if (environment.role == Role::scheduler) {
      auto socket = std::make_unique<ZmqSocket>(ZMQ_ROUTER, most_beat);
      const auto bind_to = [&](const std::string& address) {
        return socket->bind(text("tcp://", address, ":", environment.port));
      };
      int error = bind_to(reach_.host);
      if (error == EADDRNOTAVAIL) error = bind_to(reach_.own);  // others reach it by one that this machine has not
      if (error)
        throw_error<RuntimeError>("dist::init_parameter_server: the scheduler cannot listen at ",
                                  environment.scheduler(), ": ", zmq_strerror(error),
                                  ". MS_SCHED_HOST names the machine on which it runs, MS_SCHED_PORT a free port.");
      thread_.emplace([this, own = std::move(socket)] { schedule(*own); });
    } else {
      auto socket = std::make_unique<ZmqSocket>(ZMQ_DEALER, most_beat);  // here, where an error can be caught
      thread_.emplace([this, own = std::move(socket)] { beat(*own); });
      try {
        await_place();
      } catch (...) {
        end();
        throw;
      }
    }
  }
  ServerNode(const ServerNode&) = delete;
  ~ServerNode() { end(); }

  int rank() const { return rank_; }
  std::uint64_t job() const { return job_; }
  bool is_worker() const { return environment.role == Role::worker; }
  /// "server 1"
  std::string name() const { return role_name(environment.role, rank_); }
  /// The number of trainings that this process has begun, which is that of the next one.
  std::int32_t begin_run() { return ++begun_; }
  /// What the others hear: how many runs a worker has ended, or which one a server serves, and where.
  void tell(std::int32_t runs, const std::string& address = {}) {
    const std::lock_guard lock(mutex_);
    runs_ = runs, told_address_ = address;
  }
  const std::string& address() const { return reach_.own; }
  /// Throws RuntimeError if what this process waits for cannot come.
  void check(std::string_view what) const { members.check(options.timeout_seconds, what); }
  /// The scheduler waits until the workers have ended this run.
  void await_run(std::int32_t run, std::string_view what) const {
    const auto begin = ServerClock::now();
    for (int ended = 0; ended < environment.workers;) {
      ended = 0;
      for (int w = 0; w < environment.workers; ++w) {
        const Member one = members.worker(w);
        ended += one.runs >= run;
      }
      if (ended < environment.workers && was_complete_) check(what);
      if (!was_complete_ && double(ms_since(begin)) > options.timeout_seconds * 1000)
        throw_error<RuntimeError>(what, ": after ", options.timeout_seconds, " s not all of ", environment.servers,
                                  " servers and ", environment.workers, " workers are there: start the others.");
      std::this_thread::sleep_for(std::chrono::milliseconds(beat_ms / 2));
    }
  }

  const ServerEnvironment environment;
  const ParameterServerOptions options;
  Members members;

 private:
  static constexpr long most_beat = 1 << 20;  // the table of 8192 members

  Reach reach_scheduler() const {
    Reach found = reach(environment.host, environment.port);
    if (found.own.empty())
      throw_error<ValueError>("dist::init_parameter_server: there is no machine '", environment.host,
                              "': MS_SCHED_HOST is the name or the address of that of the scheduler.");
    return found;
  }
  Beat own_beat(std::uint64_t incarnation, bool ends) {
    Beat beat;
    beat.job = job_, beat.incarnation = incarnation, beat.role = environment.role, beat.rank = rank_;
    beat.servers = environment.servers, beat.workers = environment.workers, beat.ended = ends;
    const std::lock_guard lock(mutex_);
    beat.runs = runs_;
    write_text(beat.address, told_address_);
    return beat;
  }
  void beat(ZmqSocket& socket) {
    const std::uint64_t incarnation = random_number();
    socket.connect(text("tcp://", environment.scheduler()));
    ZmqMessage message;
    for (bool ends = false; !ends;) {
      ends = ends_;
      socket.send({}, own_beat(incarnation, ends));
      const auto sent = ServerClock::now();
      for (long left; !ends && (left = beat_ms - ms_since(sent)) > 0;)
        if (socket.receive(message, std::min(left, 20L))) take_table(message);
        else if (ends_) break;
      if (ms_since(sent) > stopped_ms) members.wake_up();
      if (rank_ >= 0) members.look_at_scheduler();
    }
    if (!has_heard_) socket.forget();
  }
  void take_table(ZmqMessage& message) {
    TableHead table;
    std::vector<Member> all(std::size_t(environment.servers + environment.workers));
    if (!message.read(table) || table.magic != wire_magic) return;
    has_heard_ = true;
    if (table.refusal[0]) return members.refuse(read_text(table.refusal));
    there_[0] = table.servers, there_[1] = table.workers;
    if (message.body.size() != all.size() * sizeof(Member)) return;
    std::memcpy(all.data(), message.body.bytes().data(), message.body.size());
    members.take(all);
    const int most = is_worker() ? environment.workers : environment.servers;
    if (table.rank >= 0 && table.rank < most) job_ = table.job, rank_ = table.rank;
  }
  void await_place() {
    const auto begin = ServerClock::now();
    while (rank_ < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      members.check(1e9, "dist::init_parameter_server");
      if (double(ms_since(begin)) < options.timeout_seconds * 1000) continue;
      if (!has_heard_)
        throw_error<RuntimeError>("dist::init_parameter_server: no scheduler answers at ", environment.scheduler(),
                                  " for ", options.timeout_seconds,
                                  " s: start one, with MS_ROLE=MS_SCHED, or mend "
                                  "MS_SCHED_HOST and MS_SCHED_PORT.");
      throw_error<RuntimeError>("dist::init_parameter_server: after ", options.timeout_seconds, " s there are ",
                                there_[0].load(), " of ", environment.servers, " servers and ", there_[1].load(),
                                " of ", environment.workers, " workers: start the others.");
    }
  }
  void schedule(ZmqSocket& socket) {
    Scheduler scheduler(environment);
    ZmqMessage message;
    const auto begin = ServerClock::now();
    auto last = begin;
    for (;;) {
      const bool came = socket.receive(message, beat_ms / 4);
      Beat beat;
      if (came && message.read(beat) && beat.magic == wire_magic) {
        const TableHead answer = scheduler.hear(beat);
        const std::vector<Member> all = scheduler.members();
        socket.send(message.peer, answer, std::as_bytes(std::span(all)));
      }
      if (ms_since(last) < beat_ms / 4) continue;
      last = ServerClock::now();
      const std::vector<Member> all = scheduler.members();
      members.take(all);
      bool is_over = true, is_complete = true, has_begun = false;
      for (const Member& one : all) {
        is_over &= one.presence != Presence::here;
        is_complete &= one.presence != Presence::absent;
        has_begun |= one.presence != Presence::absent;
      }
      was_complete_ = was_complete_ || is_complete;
      has_begun |= double(ms_since(begin)) >= options.timeout_seconds * 1000;  // or never will
      if (ends_ && is_over && has_begun) return;
    }
  }
  void end() {
    ends_ = true;
    if (thread_) thread_->join(), thread_.reset();
    end_zmq();
  }

  Reach reach_;
  std::atomic<int> rank_ = -1;
  std::atomic<std::uint64_t> job_ = 0;
  std::atomic<bool> ends_ = false, has_heard_ = false, was_complete_ = false;
  std::atomic<int> there_[2]{};
  std::int32_t begun_ = 0;
  std::mutex mutex_;  // of the next two
  std::int32_t runs_ = 0;
  std::string told_address_;
  std::optional<tenon::detail::Thread> thread_;
};

inline std::unique_ptr<ServerNode>& server_node() {
  static std::unique_ptr<ServerNode> node;
  return node;
}
}  // namespace detail

/// Makes this process a part of a parameter server, as the environment says:
///
///   MS_ROLE                        MS_SCHED, MS_PSERVER, or MS_WORKER
///   MS_SERVER_NUM, MS_WORKER_NUM   how many servers and workers there are; there is one scheduler
///   MS_SCHED_HOST, MS_SCHED_PORT   the machine of the scheduler, and its port
///
/// Call it after set_ps_context("enable_ps", "True"), and before you make a Model. Servers and workers wait here until
/// all are there. A process that is started again takes the place of one that is silent.
/// throws   RuntimeError without enable_ps, if called twice, if the scheduler does not answer, cannot listen, or has
///          other numbers, if there are servers or workers enough; ValueError for a variable that is missing or wrong,
///          and for a timeout below 0
/// Source: MindSpore's parameter server
[[gnu::cold]] inline void init_parameter_server(const ParameterServerOptions& options = {}) {
  if (detail::server_node())
    throw_error<RuntimeError>("dist::init_parameter_server was called before: this process is ",
                              detail::server_node()->name(), " already.");
  detail::check_timeout("dist::init_parameter_server", options.timeout_seconds);
  detail::server_node() = std::make_unique<detail::ServerNode>(detail::server_environment(), options);
  const detail::ServerNode& node = *detail::server_node();
  // what is written once for all processes is written by worker 0
  const int others = node.environment.workers + (node.environment.role == Role::server ? node.rank() : 4096);
  tenon::detail::process_rank = {node.is_worker() ? node.rank() : others, node.environment.workers};
}
/// What this process is: Role::none before init_parameter_server.
inline Role parameter_server_role() {
  return detail::server_node() ? detail::server_node()->environment.role : Role::none;
}
/// Ends it. The scheduler waits until the others have come, for the timeout at most, and have ended. A program that
/// ends does so itself.
inline void release_parameter_server() { detail::server_node().reset(); }

}  // namespace tenon::dist
