// ZeroMQ's sockets and messages, owned. Needs libzmq (component `zmq`), of 4.3 or later.
#pragma once
#include <zmq.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/math/min_max.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// A frame of a message.
class ZmqFrame {
 public:
  ZmqFrame() { zmq_msg_init(&frame_); }
  ZmqFrame(ZmqFrame&& other) noexcept : ZmqFrame() { zmq_msg_move(&frame_, &other.frame_); }
  ZmqFrame& operator=(ZmqFrame&& other) noexcept {
    if (this != &other) zmq_msg_move(&frame_, &other.frame_);
    return *this;
  }
  ~ZmqFrame() { zmq_msg_close(&frame_); }

  zmq_msg_t* get() { return &frame_; }
  std::size_t size() const { return zmq_msg_size(&frame_); }
  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(zmq_msg_data(&frame_)), zmq_msg_size(&frame_)};
  }
  bool has_more() const { return zmq_msg_more(&frame_) != 0; }

 private:
  zmq_msg_t frame_;
};

/// A message: whom it is from, or for (none for a socket that has one peer), a head of a fixed size, and a body.
struct ZmqMessage {
  std::string peer;
  ZmqFrame head, body;

  /// The head, if the message has one of this type.
  template <class T>
  bool read(T& to) {
    if (head.size() != sizeof(T)) return false;
    std::memcpy(&to, head.bytes().data(), sizeof(T));
    return true;
  }
};

/// The sockets of a process belong to one context.
struct ZmqContext {
  void* context = nullptr;
  std::atomic<int> sockets = 0;
};
inline ZmqContext& zmq_context() {
  static ZmqContext context;
  return context;
}
/// Waits until what the closed sockets have sent has left, two seconds at most. Sockets of other threads must be closed
/// for it; if one is not, what it sends may be lost.
inline void end_zmq() {
  ZmqContext& own = zmq_context();
  if (own.sockets == 0 && own.context) zmq_ctx_term(std::exchange(own.context, nullptr));
}

/// A socket of one thread. `most` limits the bytes of a frame that it takes: a peer that announces more is cut off,
/// before memory is allocated.
class ZmqSocket {
 public:
  ZmqSocket(int type, long most) : socket_(open(type)), routes_(type == ZMQ_ROUTER) {
    if (!socket_) throw_error<RuntimeError>("ZeroMQ opens no socket: ", zmq_strerror(errno), ".");
    ++zmq_context().sockets;
    const std::int64_t limit = most;
    set(ZMQ_MAXMSGSIZE, limit);
    set(ZMQ_LINGER, 2000);
    set(ZMQ_SNDHWM, 0), set(ZMQ_RCVHWM, 0);
    set(ZMQ_RECONNECT_IVL, 50), set(ZMQ_RECONNECT_IVL_MAX, 500);
    if (routes_) set(ZMQ_ROUTER_HANDOVER, 1);
  }
  ZmqSocket(ZmqSocket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)), routes_(other.routes_) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(routes_, other.routes_);
    return *this;
  }
  ~ZmqSocket() {
    if (!socket_) return;
    zmq_close(socket_);
    --zmq_context().sockets;
  }

  /// What has not left when it closes is dropped.
  void forget() { set(ZMQ_LINGER, 0); }
  /// Returns 0, or the number of the error.
  int bind(const std::string& endpoint) { return zmq_bind(socket_, endpoint.c_str()) == 0 ? 0 : errno; }
  int connect(const std::string& endpoint) { return zmq_connect(socket_, endpoint.c_str()) == 0 ? 0 : errno; }
  /// Where it is bound: "tcp://127.0.0.1:40123".
  std::string endpoint() const {
    char text[256]{};
    std::size_t size = sizeof text;
    return zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text, &size) == 0 ? text : "";
  }
  /// Sends without waiting; a message for a peer that is not there is dropped.
  template <class Head>
  void send(const std::string& peer, const Head& head, std::span<const std::byte> body = {}) {
    const auto send_part = [&](const void* data, std::size_t bytes, int flags) {
      return without_interrupt([&] { return zmq_send(socket_, data, bytes, flags | ZMQ_DONTWAIT); }) >= 0;
    };
    if (routes_ && !send_part(peer.data(), peer.size(), ZMQ_SNDMORE)) return;
    if (send_part(&head, sizeof head, ZMQ_SNDMORE)) send_part(body.data(), body.size(), 0);
  }
  /// False if none comes within this time. A message of other frames has an empty head.
  bool receive(ZmqMessage& message, long milliseconds) {
    zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, milliseconds) <= 0) return false;
    ZmqFrame frame[4];
    int frames = 0;
    for (bool more = true; more; ++frames) {
      ZmqFrame& next = frame[math::min(frames, 3)];
      if (without_interrupt([&] { return zmq_msg_recv(next.get(), socket_, ZMQ_DONTWAIT); }) < 0) return false;
      more = next.has_more();
    }
    const int first = routes_ ? 1 : 0;
    if (routes_) {
      const auto id = frame[0].bytes();
      message.peer.assign(reinterpret_cast<const char*>(id.data()), id.size());
    }
    message.head = ZmqFrame(), message.body = ZmqFrame();
    if (frames == first + 2) message.head = std::move(frame[first]), message.body = std::move(frame[first + 1]);
    return true;
  }

 private:
  // A signal may interrupt a call, which would leave a message half sent or half read.
  template <class Call>
  static int without_interrupt(Call call) {
    int result;
    do result = call();
    while (result < 0 && errno == EINTR);
    return result;
  }
  static void* open(int type) {
    ZmqContext& own = zmq_context();
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (!own.context) own.context = zmq_ctx_new();
    return zmq_socket(own.context, type);
  }
  template <class T>
  void set(int option, T value) {
    zmq_setsockopt(socket_, option, &value, sizeof value);
  }
  void* socket_;
  bool routes_;
};

}  // namespace tenon::dist::detail
