// What a worker asks servers, and how it waits for the answers, also over the restart of a server.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <tenon/dist/server/node.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// The connections of a worker to all servers, for one run.
class ServerClient {
 public:
  /// `most`: the bytes of the largest message.
  ServerClient(const ServerNode& node, std::int64_t run, long most)
      : node_(node), run_(run), most_(most), lines_(std::size_t(node.environment.servers)) {}

  int servers() const { return int(lines_.size()); }
  /// Sends a request to a server. Another one follows only after its answer; the body is kept until then.
  void ask(int server, const RequestHead& head, std::vector<std::byte> body = {}) {
    if (long(body.size()) > most_)
      throw_error<RuntimeError>("Parameter server: a step has ", body.size(), " bytes for server ", server,
                                ", the most is ", most_, ": use smaller batches.");
    Line& line = lines_[std::size_t(server)];
    if (!line.socket) has_moved(server, line);
    line.head = head, line.body = std::move(body);
    line.head.run = run_, line.head.worker = node_.rank();
    send(line);
  }
  /// Waits for the answer. The frame has its body. Throws RuntimeError with the sentence of the server, or if it cannot
  /// come. A server that was started again is asked again.
  ReplyHead answer(int server, ZmqMessage& message) {
    Line& line = lines_[std::size_t(server)];
    for (;;) {
      ReplyHead reply;
      if (line.socket && line.socket->receive(message, wait_ms)) {
        if (!message.read(reply) || reply.magic != wire_magic) continue;
        if (reply.answer == Answer::error) refuse(message);
        if (reply.run == run_ && reply.step == line.head.step && reply.ask == line.head.ask) return reply;
        continue;
      }
      if (const Member member = node_.members.server(server); member.runs > run_) {
        reply.answer = Answer::over;  // a worker that was started again is behind
        return reply;
      }
      node_.check("Model.train");
      if (!line.socket) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (has_moved(server, line) || ms_since(line.sent) > again_ms) send(line);
    }
  }

 private:
  static constexpr long wait_ms = 50, again_ms = 10000;
  struct Line {
    std::optional<ZmqSocket> socket;
    std::string address;
    RequestHead head;
    std::vector<std::byte> body;
    ServerClock::time_point sent{};
  };
  // Connects anew if the server is elsewhere than before; true then.
  bool has_moved(int server, Line& line) {
    const Member member = node_.members.server(server);
    const std::string address = read_text(member.address);
    if (member.presence != Presence::here || member.runs != run_ || address.empty() || address == line.address)
      return false;
    line.socket.emplace(ZMQ_DEALER, most_);
    line.socket->connect(address);
    line.address = address;
    return true;
  }
  static void send(Line& line) {
    if (line.socket) line.socket->send({}, line.head, line.body);
    line.sent = ServerClock::now();
  }
  [[noreturn, gnu::cold]] static void refuse(ZmqMessage& message) {
    const auto words = message.body.bytes();
    throw RuntimeError(
        std::string(reinterpret_cast<const char*>(words.data()), std::min(words.size(), std::size_t(4096))));
  }

  const ServerNode& node_;
  const std::int64_t run_;
  const long most_;
  std::vector<Line> lines_;
};

}  // namespace tenon::dist::detail
