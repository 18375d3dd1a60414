// The processes of a parameter server on this machine, for tests: children of the test, which it can kill and start
// again.
#pragma once
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include <tenon/train/parameter_server.hpp>

#include "../support/free_port.hpp"

namespace servers {

using namespace tenon;

/// What all processes of a job see: which process has which place, and how often a callback has killed one.
struct Board {
  std::atomic<pid_t> server[8], worker[8], scheduler;
  std::atomic<int> kills;
};

/// A job of one scheduler and some servers and workers. What a process leaves is a text.
class Job {
 public:
  Job(int servers, int workers_there, double timeout = 30)
      : workers(workers_there),
        servers_(servers),
        timeout_(timeout),
        port_(support::free_port()),
        folder_(std::filesystem::temp_directory_path() / ("tenon_server_" + std::to_string(::getpid()))),
        board_(new(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board{}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  Job(const Job&) = delete;
  ~Job() {
    std::filesystem::remove_all(folder_);
    ::munmap(board_, sizeof(Board));
  }

  int workers;  // as the environment of the next process says
  const char* host = "127.0.0.1";

  Board& board() { return *board_; }
  /// The folder for the files of servers.
  std::string folder() const { return folder_.string(); }
  /// Starts a process, which calls body(node) for a text. An exception is a text, too: "ERROR ...".
  template <class Body>
  pid_t start(const char* role, Body body) {
    const pid_t pid = ::fork();
    if (pid != 0) return children_.push_back({pid, role}), pid;
    set(role);
    std::string name = "refused", said;
    try {
      set_ps_context("enable_ps", "True");
      dist::init_parameter_server({.timeout_seconds = timeout_});
      const dist::detail::ServerNode& node = *dist::detail::server_node();
      name = node.name();
      if (node.is_worker()) board_->worker[node.rank()] = ::getpid();
      else if (node.rank() >= 0) board_->server[node.rank()] = ::getpid();
      else board_->scheduler = ::getpid();
      said = body();
    } catch (const std::exception& error) {
      said = text("ERROR ", error.what());
    }
    std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << said;
    dist::release_parameter_server();
    ::_exit(0);
  }
  template <class Body>
  void start_all(Body body) {
    start("MS_SCHED", body);
    for (int i = 0; i < servers_; ++i) start("MS_PSERVER", body);
    for (int i = 0; i < workers; ++i) start("MS_WORKER", body);
  }
  /// Waits for another child, too.
  void adopt(pid_t pid) { children_.push_back({pid, ""}); }
  /// Waits for all. One that was killed is started again, with the same environment, if `restarts`.
  template <class Body>
  void wait(Body body, bool restarts = true) {
    while (!children_.empty()) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, 0);
      const auto child =
          std::find_if(children_.begin(), children_.end(), [&](const Child& one) { return one.pid == pid; });
      REQUIRE(child != children_.end());
      const char* const role = child->role;
      children_.erase(child);
      if (restarts && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) start(role, body);
    }
  }
  /// What a process has left: said("worker 0").
  std::string said(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  struct Child {
    pid_t pid;
    const char* role;
  };
  void set(const char* role) const {
    ::setenv("MS_ROLE", role, 1);
    ::setenv("MS_SERVER_NUM", std::to_string(servers_).c_str(), 1);
    ::setenv("MS_WORKER_NUM", std::to_string(workers).c_str(), 1);
    ::setenv("MS_SCHED_HOST", host, 1);
    ::setenv("MS_SCHED_PORT", std::to_string(port_).c_str(), 1);
  }

  int servers_;
  double timeout_;
  int port_;
  std::filesystem::path folder_;
  Board* board_;
  std::vector<Child> children_;
};

enum class Victim { nobody, worker, other_worker, server, scheduler, both_servers, scheduler_and_worker };
/// Kills processes, once: called on worker 0 alone.
struct Killer {
  Board* board = nullptr;
  Victim victim = Victim::nobody;
  long step = 0;
  bool before = false;
  long pause = 0;  // of each step, in microseconds

  void step_begin(RunInfo& run) {
    if (before && run.cur_step_num == step) kill();
  }
  void step_end(RunInfo& run) {
    ::usleep(useconds_t(pause));
    if (!before && run.cur_step_num == step) kill();
  }
  void kill() const {
    if (victim == Victim::nobody || dist::detail::server_node()->rank() != 0 || board->kills.exchange(1)) return;
    if (victim == Victim::scheduler || victim == Victim::scheduler_and_worker) ::kill(board->scheduler, SIGKILL);
    if (victim == Victim::server || victim == Victim::both_servers) ::kill(board->server[0], SIGKILL);
    if (victim == Victim::both_servers) ::kill(board->server[1], SIGKILL);
    if (victim == Victim::other_worker || victim == Victim::scheduler_and_worker) ::kill(board->worker[1], SIGKILL);
    if (victim == Victim::worker) ::kill(board->worker[0], SIGKILL);
  }
};

}  // namespace servers
