// What a worker sends to the servers and takes from them, whatever the shards of its step are.
#pragma once
#include <memory>

#include <tenon/dist/server/client.hpp>
#include <tenon/dist/server/shard_nodes.hpp>
#include <tenon/train/file/progress.hpp>
#include <tenon/train/server/server_plan.hpp>
#include <tenon/train/shards/agreement.hpp>
#include <tenon/train/step/state.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A run of a worker: its place among the steps, and the connections.
class WorkerLink {
 public:
  using Ask = dist::detail::Ask;
  using RequestHead = dist::detail::RequestHead;

  WorkerLink(const dist::detail::ServerNode& node, const ServerPlan& plan, std::int64_t run, long most,
             const RequestHead& head)
      : plan_(plan), client_(node, run, most), head_(head) {}

  const RequestHead& head() const { return head_; }
  /// The heads of the requests to come are that of the last one, with what `change(head)` changes.
  template <class Change>
  RequestHead next(Ask ask, long step, Change change) {
    head_.ask = ask, head_.step = step, head_.vote = 0;
    change(head_);
    return head_;
  }
  /// True if it is so for one of the workers.
  bool any(Ask ask, long step, bool yes) {
    client_.ask(0, next(ask, step, [&](RequestHead& head) { head.vote = yes; }));
    dist::detail::ZmqMessage message;
    return client_.answer(0, message).vote != 0;
  }
  /// Asks all servers, with what `body(server)` gives; then take(server, answer, bytes) for each, from the first on.
  template <class Body, class Take>
  void ask_all(const RequestHead& head, Body body, Take take) {
    for (int server = 0; server < plan_.servers; ++server) client_.ask(server, head, body(server));
    for (int server = 0; server < plan_.servers; ++server) {
      dist::detail::ZmqMessage message;
      const dist::detail::ReplyHead reply = client_.answer(server, message);
      take(server, reply.answer, message.body.bytes());
    }
  }
  /// The gradients of the nodes for a server, and to server 0 the numbers behind them.
  std::vector<std::byte> push_body(int server, const TrainState& state, const std::vector<unsigned char>& flags,
                                   const std::vector<dist::detail::ShardNodes::Node>& nodes, long gradients,
                                   long numbers) const {
    std::vector<std::byte> body;
    append_bytes(body, state.data(0, std::size_t(plan_.head), Look::read), plan_.head);
    append_bytes(body, flags.data(), plan_.flags);
    for (const auto& node : nodes) {
      plan_.each(server, [&](const ServerEntry& one) {
        const std::byte* const sum = node.data + one.sum_offset - dist::detail::ShardNodes::header;
        if (!one.rows) return append_bytes(body, sum, one.sum);
        const ServerRows rows = plan_.gradient_rows(one);
        rows.append(body, sum, [&](long, const std::byte* row) { return !is_zero_row(row, rows.bytes); });
      });
      if (server == 0) append_bytes(body, node.data + gradients, numbers);
    }
    return body;
  }
  /// Copies to the network what a server has changed of the weights, and returns its bytes, or -1 if it is something
  /// else.
  long take_changes(int server, std::span<const std::byte> from, const ParameterList& parameters) const {
    const auto each = [&](auto take) { return read_tensors(plan_, server, false, from, take); };
    if (const long bytes = each([](const ServerEntry&, const std::byte*) {}); bytes < 0) return bytes;
    return each([&](const ServerEntry& one, const std::byte* data) {
      std::byte* const to = parameters.handle(one.entry).values_at(one.weights);
      if (!one.rows) return static_cast<void>(std::memcpy(to, data, std::size_t(one.weights)));
      const ServerRows rows = plan_.weight_rows(one);
      rows.each(data, [&](long number, const std::byte* row) {
        std::memcpy(to + number * rows.bytes, row, std::size_t(rows.bytes));
      });
    });
  }
  /// Copies a server's weights to the network.
  void take_weights(int server, const std::byte* from, const ParameterList& parameters) const {
    plan_.each(server, [&](const ServerEntry& one) {
      take_bytes(parameters.handle(one.entry).values_at(one.weights), from, one.weights);
    });
  }
  /// Copies a server's moments to a training state.
  void take_moments(int server, const std::byte* from, const TrainState& state) const {
    plan_.each(server, [&](const ServerEntry& one) {
      for (int s = 0; s < one.slots; ++s)
        take_bytes(state.data(one.slot_offset[s], std::size_t(one.slot[s]), Look::change), from, one.slot[s]);
    });
  }

  Ask last_stop = Ask::begin;  // what was asked at the end of this step so far
  long stop_step = -1;

 private:
  const ServerPlan& plan_;
  dist::detail::ServerClient client_;
  RequestHead head_;
};

/// The records of all servers after the same step: the last of the server that is behind.
class JoinedRecords {
 public:
  /// Of a server, its last one, and the one before if it has one. Throws RuntimeError for what is none.
  void add(std::span<const std::byte> bytes, const dist::detail::RecordLayout& layout) {
    Two two;
    for (std::vector<std::byte>& one : two.record) {
      if (bytes.empty()) break;
      dist::detail::RecordHead head;
      if (long(bytes.size()) < layout.fixed) refuse();
      std::memcpy(&head, bytes.data(), sizeof head);
      if (head.numbers < 0 || head.numbers > long(bytes.size()) - layout.fixed) refuse();
      const std::size_t size = std::size_t(layout.fixed + head.numbers);
      one.assign(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
      bytes = bytes.subspan(size);
    }
    if (two.record[0].empty()) refuse();
    step_ = all_.empty() ? step_of(two.record[0]) : std::min(step_, step_of(two.record[0]));
    all_.push_back(std::move(two));
  }
  std::int64_t step() const { return step_; }
  const std::vector<std::byte>& of(int server) const {
    for (const std::vector<std::byte>& one : all_[std::size_t(server)].record)
      if (!one.empty() && step_of(one) == step_) return one;
    refuse();
  }
  dist::detail::RecordHead head() const { return dist::detail::ServerRecords::head_of(of(0)); }

 private:
  struct Two {
    std::vector<std::byte> record[2];
  };
  static std::int64_t step_of(const std::vector<std::byte>& record) {
    return dist::detail::ServerRecords::head_of(record).step;
  }
  [[noreturn, gnu::cold]] static void refuse() {
    throw_error<RuntimeError>("Model.train: the servers have no records of the same step.");
  }
  std::vector<Two> all_;
  std::int64_t step_ = 0;
};

}  // namespace tenon::detail
