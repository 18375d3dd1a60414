// A client that sends any bytes, for tests of a server on this machine.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace serving_test {

/// A response; status 0 if the server closed the connection without one.
struct Reply {
  int status = 0;
  std::string head, body;
};

/// The next response of what `more` receives, which returns the number of bytes, 0 at the end, -1 for an error.
inline Reply receive_reply(std::string& read, auto more) {
  const auto receive = [&] {
    char bytes[4096];
    const std::ptrdiff_t count = more(bytes, sizeof bytes);
    if (count > 0) read.append(bytes, std::size_t(count));
    return count > 0;
  };
  std::size_t end;
  while ((end = read.find("\r\n\r\n")) == read.npos)
    if (!receive()) return {};
  Reply reply{0, read.substr(0, end + 4), {}};
  reply.status = std::atoi(reply.head.c_str() + 9);
  const std::size_t length = reply.head.find("\r\nContent-Length: ");
  const std::size_t bytes = length == reply.head.npos ? 0 : std::strtoul(reply.head.c_str() + length + 18, nullptr, 10);
  while (read.size() < end + 4 + bytes)
    if (!receive()) return {};
  reply.body = read.substr(end + 4, bytes);
  read.erase(0, end + 4 + bytes);
  return reply;
}

/// A connection, which waits for at most five seconds.
class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval most{5, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_addr.s_addr = htonl(INADDR_LOOPBACK), to.sin_port = htons(std::uint16_t(port));
    is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  Connection(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  bool is_open() const { return is_open_; }
  int socket() const { return socket_; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(std::size_t(sent));
    }
  }
  /// The next response.
  Reply receive() {
    return receive_reply(read_, [this](char* bytes, std::size_t most) { return receive_some(bytes, most); });
  }
  /// All bytes until the server closes its side.
  std::string receive_all() {
    std::string all = std::exchange(read_, {});
    char bytes[4096];
    for (std::ptrdiff_t count; (count = receive_some(bytes, sizeof bytes)) > 0;) all.append(bytes, std::size_t(count));
    return all;
  }
  /// Whether the server has closed its side.
  bool is_closed() {
    read_.clear();
    char bytes[4096];
    return receive_some(bytes, sizeof bytes) == 0;
  }

 private:
  std::ptrdiff_t receive_some(char* bytes, std::size_t most) const { return ::recv(socket_, bytes, most, 0); }

  int socket_;
  bool is_open_ = false;
  std::string read_;
};

inline std::string get(std::string_view path) { return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n"; }
inline std::string post(std::string_view path, std::string_view body, std::string_view headers = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}
/// The answer to one request.
inline Reply ask(int port, std::string_view request) {
  Connection connection(port);
  connection.send(request);
  return connection.receive();
}
/// Waits until `holds()`, for ten seconds at most, and says whether it does.
inline bool comes_true(auto holds) {
  for (int turn = 0; turn < 2000 && !holds(); ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return holds();
}
/// Whether a request waits for its batch, or soon does.
inline bool one_waits(int port) {
  return comes_true([port] {
    const std::string metrics = ask(port, get("/metrics")).body;
    const std::size_t at = metrics.find("\ntenon_inference_pending_request_count{");
    return at != metrics.npos && metrics.substr(metrics.find('}', at), 4) == "} 1\n";
  });
}

}  // namespace serving_test
