// From rank to rank: neighbor_exchange, send_receive.
#pragma once
#include <tenon/ops/collective/collective.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
inline dist::detail::Called called(dist::detail::Called::Kind kind, int what, std::size_t bytes) {
  return {kind, what, -1, 0, std::int64_t(bytes)};
}
/// Sends to one rank and receives from another; a rank below 0 is none.
inline void exchange(const dist::Communicator& ranks, const dist::detail::Called& called, int to,
                     std::span<const std::byte> x, int from, std::span<std::byte> y) {
  dist::detail::CollectiveCall call(ranks, called);
  if (from >= 0) call.receive(from, y);
  if (to >= 0) call.send(to, x);
  call.wait();
}
}  // namespace detail

/// x moves on by `offset` ranks, in a circle: the result is the tensor of rank (rank - offset) modulo their number.
///
/// x           any shape, the same on all ranks; any dtype
/// derivative  dy moves back
/// source      MindSpore's NeighborExchange, whose lists of ranks are the same offset on all ranks here, as all have
///             one graph
template <FixedString group>
struct NeighborExchange : Collective<NeighborExchange<group>, "NeighborExchange", group> {
  struct Config {
    int offset = 1;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<NeighborExchange>({-d.config<NeighborExchange>().offset}, d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const dist::Communicator& ranks = NeighborExchange::ranks();
    const auto x = NeighborExchange::template operand<Call>(a);
    const auto y = NeighborExchange::template result<Call>(a);
    const int size = ranks.size(), offset = (Call::config().offset % size + size) % size;
    if (offset == 0) std::copy(x.begin(), x.end(), y.begin());
    else
      detail::exchange(ranks,
                       detail::called(dist::detail::Called::neighbor_exchange, Call::config().offset, x.size_bytes()),
                       (ranks.rank() + offset) % size, std::as_bytes(x), (ranks.rank() + size - offset) % size,
                       std::as_writable_bytes(y));
  }
};

/// Settings of a message, and of its gradient, which goes the other way.
struct SendReceiveConfig {
  int from = 0, to = 0, backward = 0;
};
/// Rank `to` gets the tensor of rank `from` in place of its own; the others keep theirs.
///
/// x           any shape, the same on both ranks; any dtype
/// derivative  `from` gets dy of `to` in addition to its own, `to` gets zeros
/// errors      ValueError when it runs, if the group has no such rank
/// source      MindSpore's Send and Receive, in one operator, as all ranks have one graph
template <FixedString group>
struct SendReceive : Collective<SendReceive<group>, "SendReceive", group> {
  using Config = SendReceiveConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    Config c = d.config<SendReceive>();
    c.backward = !c.backward;
    d.flows_to(0, d.call_with<SendReceive>(c, d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr Config c = Call::config();
    const dist::Communicator& ranks = SendReceive::ranks();
    if (c.from >= ranks.size() || c.to >= ranks.size())
      throw_error<ValueError>("SendReceive from rank ", c.from, " to rank ", c.to, ": the group '", group.view(),
                              "' has the ranks 0 to ", ranks.size() - 1, ".");
    const auto x = SendReceive::template operand<Call>(a);
    const auto y = SendReceive::template result<Call>(a);
    std::copy(x.begin(), x.end(), y.begin());
    constexpr int sender = c.backward ? c.to : c.from, receiver = c.backward ? c.from : c.to;
    if constexpr (c.from == c.to) return;
    const auto called = detail::called(dist::detail::Called::send_receive, sender << 16 | receiver, x.size_bytes());
    if (ranks.rank() == receiver) detail::exchange(ranks, called, -1, {}, sender, std::as_writable_bytes(y));
    if (ranks.rank() == sender) detail::exchange(ranks, called, receiver, std::as_bytes(x), -1, {});
    if constexpr (c.backward && !std::is_same_v<T, bool>) {
      if (ranks.rank() == receiver) {
        const auto part = [&](int first, int of) { return of > 1 ? nullptr : first == 0 ? x.data() : y.data(); };
        dist::fold_nodes<dist::detail::Add, T>(2, part, y);
      }
      if (ranks.rank() == sender) std::fill(y.begin(), y.end(), T(0));
    }
  }
};

/// `neighbor_exchange<1>(x)`: to the next rank; in a group `neighbor_exchange<-1, "half">(x)`.
template <int offset, FixedString group = "world">
constexpr auto neighbor_exchange(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<NeighborExchange<group>, typename NeighborExchange<group>::Config{offset}>(at, x);
}
/// `send_receive<0, 2>(x)`: from rank 0 to rank 2; in a group `send_receive<0, 1, "half">(x)`.
template <int from, int to, FixedString group = "world">
constexpr auto send_receive(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(from >= 0 && to >= 0, "send_receive<from, to>: ranks count from 0");
  return apply<SendReceive<group>, SendReceiveConfig{from, to}>(at, x);
}

}  // namespace tenon::ops
