// What the connections of a server share, and what the server knows of each.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <tenon/serve/registry.hpp>

namespace tenon::inline TENON_ABI::serving {

/// Another way to the models of a server, which ends with it.
class Companion {
 public:
  virtual ~Companion() = default;
  virtual void stop() = 0;
};

/// What all connections of a server share.
struct Hub {
  ServeOptions options;
  Registry registry;
  std::atomic<bool> stopping = false;
  std::atomic<long> connections = 0, refused_connections = 0;
  std::atomic<std::size_t> body_bytes = 0;
  std::mutex mutex;
  std::vector<std::weak_ptr<Companion>> companions;

  /// Counts the bytes of a body, until give_back(). False if there are too many.
  bool take(std::size_t bytes) {
    if (body_bytes.fetch_add(bytes) + bytes <= options.max_bodies_bytes) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) { body_bytes.fetch_sub(bytes); }
  void add(const std::shared_ptr<Companion>& companion) {
    const std::lock_guard lock(mutex);
    std::erase_if(companions, [](const auto& one) { return one.expired(); });
    companions.push_back(companion);
  }
  void stop_companions() {
    std::vector<std::weak_ptr<Companion>> all;
    {
      const std::lock_guard lock(mutex);
      all.swap(companions);
    }
    for (const auto& one : all)
      if (const auto alive = one.lock()) alive->stop();
  }

  std::string metrics() const {
    std::string text;
    append_metric_head(text, "tenon_connections", "Connections", "gauge");
    text += "tenon_connections " + std::to_string(connections.load()) + '\n';
    append_metric_head(text, "tenon_refused_connections", "Connections closed because there were too many", "counter");
    text += "tenon_refused_connections " + std::to_string(refused_connections.load()) + '\n';
    return text;
  }
};

class Connection;
/// A thread of the server with its connections, which only this thread touches.
struct IoThread {
  explicit IoThread(std::size_t which) : number(which) {}

  std::size_t number;
  std::unordered_set<Connection*> sessions;  // before the context, whose end may end some
  boost::asio::io_context context{1};
  boost::asio::steady_timer timer{context};  // looks after times of connections
  bool watches = false;
  Clock::time_point awake_until{};
  bool is_awake = false;
};

/// How long: above the time that a thread takes to wake up, also in a virtual machine.
inline constexpr std::chrono::microseconds awake_time{50};
/// A handler that keeps its thread from sleeping: while it is posted again and again, the thread looks for requests
/// without waiting.
struct Awake {
  IoThread& io;
  void operator()() const {
    io.is_awake = io.sessions.size() == 1 && Clock::now() < io.awake_until;
    if (io.is_awake) boost::asio::post(io.context, *this);
  }
};

/// A socket that knows its executor, whose copies then cost nothing.
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

/// A connection, whatever carries its bytes.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `hub` counts the connection already.
  Connection(std::shared_ptr<Hub> hub, IoThread& io) : hub_(std::move(hub)), io_(io) {
    io_.sessions.insert(this);
    if (!io_.watches) watch(io_, *hub_);
  }
  Connection(const Connection&) = delete;
  virtual ~Connection() {
    io_.sessions.erase(this);
    hub_->connections.fetch_sub(1);
  }

  virtual void close() = 0;
  void close_if_idle() {
    if (idle_) close();
  }

 protected:
  const ServeOptions& options() const { return hub_->options; }
  void expires_after(std::chrono::milliseconds time) { until_ = Clock::now() + time; }
  /// A thread that sleeps takes tens of microseconds to wake up, longer than a short model computes: with one
  /// connection it waits awake for a while. With more it sleeps at once, and wakes up to several requests.
  void stay_awake() const {
    static const bool several_processors = std::thread::hardware_concurrency() > 1;
    if (io_.sessions.size() != 1 || !several_processors) return;
    io_.awake_until = Clock::now() + awake_time;
    if (!io_.is_awake) Awake{io_}();
  }

  std::shared_ptr<Hub> hub_;
  IoThread& io_;
  Clock::time_point until_ = Clock::time_point::max();  // when it is closed
  bool idle_ = false;                                   // no request has begun

 private:
  // A timer for each wait would cost more than a short model: one looks at all connections, some times in the shortest.
  static void watch(IoThread& io, const Hub& hub) {
    const ServeOptions& o = hub.options;
    io.watches = true;
    io.timer.expires_after(std::clamp<std::chrono::milliseconds>(
        std::min({o.idle_time, o.read_time, o.write_time}) / 8, std::chrono::milliseconds(1), std::chrono::seconds(1)));
    io.timer.async_wait([&io, &hub](boost::system::error_code error) {
      io.watches = false;
      if (error) return;
      const auto now = Clock::now();
      for (Connection* session : io.sessions)
        if (session->until_ <= now) session->close();
      if (!io.sessions.empty()) watch(io, hub);
    });
  }
};

}  // namespace tenon::serving
