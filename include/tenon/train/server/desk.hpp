// What a server answers: a request of all workers is done when all have sent it, once.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/dist/server/node.hpp>
#include <tenon/train/server/server_record.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// What a worker asks, kept until all have.
struct ServerRequest {
  RequestHead head;
  std::string peer;
  std::vector<std::byte> body;
  bool waits = false;
};

/// "the gradients of step 7"
[[gnu::cold]] inline std::string request_text(const RequestHead& head) {
  switch (head.ask) {
    case Ask::begin: return text("the begin of run ", head.run, " after step ", head.step);
    case Ask::push: return text("the gradients of step ", head.step);
    case Ask::finish: return text("the end of run ", head.run, " after step ", head.step);
    case Ask::end_epoch:
    case Ask::stop_epoch: return text("the end of an epoch after step ", head.step);
    default: return text("the end of step ", head.step);
  }
}

/// The requests of a run. `Work` does them:
///
///   check(head, body)   returns why a request with that body is wrong, or nothing
///   begin(requests), push(requests), finish(requests)   of all workers; they leave a record. May throw Error
///   changes(step)       what the last or the last but one step has changed, for the workers
///
/// Requests come in one order, so one that is older than the last that was done was answered before: it is answered
/// again, from the records. So workers ask again what they had no answer to, those that were started again begin where
/// the others wait, and a server that was started again goes on with the records of its predecessor.
template <class Work>
class ServerDesk {
 public:
  /// Opens it: workers hear of its address.
  ServerDesk(ServerNode& node, std::int64_t run, long most, std::uint64_t model, ServerRecords& records, Work& work)
      : node_(node),
        run_(run),
        model_(model),
        records_(records),
        work_(work),
        socket_(ZMQ_ROUTER, most),
        requests_(std::size_t(node.environment.workers)) {
    if (const int error = socket_.bind(text("tcp://", node.address(), ":*")))
      throw_error<RuntimeError>("Model.train: ", node.name(), " cannot listen at ", node.address(), ": ",
                                zmq_strerror(error), ".");
    node.tell(std::int32_t(run), socket_.endpoint());
  }
  /// Returns when the workers have ended their run. Throws what the work throws, which the workers hear, and
  /// RuntimeError if a worker does not come again.
  void serve() {
    ZmqMessage message;
    while (!is_over_) {
      if (socket_.receive(message, wait_ms)) take(message);
      else look_at_workers();
    }
  }

 private:
  static constexpr long wait_ms = 50;
  static constexpr std::int64_t most_step = std::int64_t{1} << 48;

  // All have ended the run if this server was started again too late for it. One that has ended it alone, by an error,
  // leaves the others waiting.
  void look_at_workers() {
    node_.check("Model.train");
    int ended = 0, one = 0;
    for (int w = 0; w < node_.environment.workers; ++w)
      if (node_.members.worker(w).runs >= run_) ++ended, one = w;
    is_over_ = ended == node_.environment.workers;
    if (ended == 0 || is_over_) left_ = ServerClock::now();
    else if (ms_since(left_) > 2000) {
      const std::string why = text("worker ", one, " has left the training, by an error of its own.");
      for (const ServerRequest& request : requests_)
        if (request.waits) refuse(request.peer, request.head, why);
      throw_error<RuntimeError>("Model.train: ", node_.name(), ": ", why);
    }
  }
  void take(ZmqMessage& message) {
    RequestHead head;
    if (!message.read(head) || head.magic != wire_magic)
      return refuse(message.peer, {}, "a message that is none of this program");
    if (head.step < 0 || head.step > most_step || head.worker < 0 || head.worker >= node_.environment.workers ||
        head.ask < Ask::begin || head.ask > Ask::state)
      return refuse(message.peer, head, text("a message of worker ", head.worker, " that is none of this program"));
    if (head.model != model_)
      return refuse(message.peer, head,
                    text("worker ", head.worker,
                         " has another network, optimizer, or number of "
                         "shards: start the same program everywhere"));
    if (head.run != run_) return reply(message.peer, head, Answer::over);
    if (head.ask == Ask::begin && !records_.empty()) return answer(message.peer, head, Answer::joined);
    if (!records_.empty() && (head.ask == Ask::state || head.key() <= done())) return answer_again(message.peer, head);
    if (records_.empty() && head.ask != Ask::begin)
      return refuse(message.peer, head,
                    text("it was started again, and finds no files of the one before. It needs the "
                         "same folder: dist::ParameterServer{.folder = ...}"));
    std::vector<std::byte> body(message.body.bytes().begin(), message.body.bytes().end());
    if (const std::string why = work_.check(head, body); !why.empty())
      return refuse(message.peer, head, text("worker ", head.worker, " sends ", request_text(head), ": ", why));
    ServerRequest& own = requests_[std::size_t(head.worker)];
    own.head = head, own.body = std::move(body), own.peer = message.peer, own.waits = true;
    if (std::all_of(requests_.begin(), requests_.end(), [](const ServerRequest& one) { return one.waits; })) finish();
  }
  // The last request that was done.
  std::int64_t done() {
    const RecordHead last = ServerRecords::head_of(records_.last());
    RequestHead key;
    key.step = last.step, key.ask = last.is_first ? Ask::begin : Ask::push;
    return std::max(key.key(), records_.index.vote_key);
  }
  void finish() {
    try {
      do_all();
    } catch (const Error& error) {
      for (const ServerRequest& one : requests_) refuse(one.peer, one.head, error.what());
      throw;
    }
    for (ServerRequest& one : requests_) {
      one.waits = false;
      answer(one.peer, one.head, Answer::done);
    }
  }
  void do_all() {
    const RequestHead& first = requests_[0].head;
    for (const ServerRequest& one : requests_)
      if (one.head.ask == Ask::begin && one.head.vote)
        throw_error<RuntimeError>("worker ", one.head.worker,
                                  " was started again between two trainings, and has not the weights that the first "
                                  "one left: start all processes again, from a checkpoint.");
    for (const ServerRequest& one : requests_)
      if (one.head.key() != first.key())
        throw_error<RuntimeError>("worker 0 has come to ", request_text(first), ", worker ", one.head.worker, " to ",
                                  request_text(one.head), ": give all workers the same data set and callbacks.");
    switch (first.ask) {
      case Ask::begin: return records_.begin_run(run_), work_.begin(requests_);
      case Ask::push: return work_.push(requests_);
      case Ask::finish: is_over_ = true; return work_.finish(requests_);
      default: break;
    }
    records_.index.vote_key = first.key(), records_.index.vote = 0;
    for (const ServerRequest& one : requests_) records_.index.vote |= one.head.vote;
    records_.write_index();
  }
  void answer_again(const std::string& peer, const RequestHead& head) {
    const bool is_old = head.ask == Ask::push && head.step != ServerRecords::head_of(records_.last()).step &&
                        !(records_.has_before() && head.step == ServerRecords::head_of(records_.before()).step);
    if (is_old) return refuse(peer, head, text("worker ", head.worker, " comes late with ", request_text(head)));
    answer(peer, head, Answer::done);
  }
  void answer(const std::string& peer, const RequestHead& head, Answer kind) {
    const std::vector<std::byte>& last = records_.last();
    switch (head.ask) {
      case Ask::begin: {
        std::vector<std::byte> both = last;
        if (records_.has_before()) both.insert(both.end(), records_.before().begin(), records_.before().end());
        return reply(peer, head, kind, both);
      }
      case Ask::push: return reply(peer, head, kind, work_.changes(head.step));
      case Ask::finish:
      case Ask::state: return reply(peer, head, kind, last);
      default: return reply(peer, head, kind, {}, records_.index.vote_key == head.key() ? records_.index.vote : 0);
    }
  }
  void reply(const std::string& peer, const RequestHead& head, Answer kind, std::span<const std::byte> body = {},
             std::int32_t vote = 0) {
    ReplyHead reply;
    reply.run = head.run, reply.step = head.step, reply.ask = head.ask, reply.answer = kind, reply.vote = vote;
    socket_.send(peer, reply, body);
  }
  [[gnu::cold]] void refuse(const std::string& peer, const RequestHead& head, const std::string& why) {
    const std::string words = text("Model.train: ", node_.name(), ": ", why, why.ends_with('.') ? "" : ".");
    reply(peer, head, Answer::error, std::as_bytes(std::span(words)));
  }

  ServerNode& node_;
  const std::int64_t run_;
  const std::uint64_t model_;
  ServerRecords& records_;
  Work& work_;
  ZmqSocket socket_;
  std::vector<ServerRequest> requests_;  // of the workers
  bool is_over_ = false;
  ServerClock::time_point left_ = ServerClock::now();  // before this all or no workers had
};

}  // namespace tenon::dist::detail
