// Which server has which parameters, and what messages and records have of them.
#pragma once
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include <tenon/train/server/server_record.hpp>
#include <tenon/train/server/server_rows.hpp>
#include <tenon/train/shards/shard_graph.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A trained parameter on its server.
struct ServerEntry {
  int entry = 0, server = 0, slots = 0;
  bool wide = false;                  // float64
  long rows = 0;                      // of a table of which messages have some rows, else 0
  long weights = 0;                   // bytes
  long sum_offset = 0, sum = 0;       // of its gradient in a block, and bytes
  long slot_offset[nn::max_slots]{};  // in the training state
  long slot[nn::max_slots]{};         // bytes
};

/// What a worker says of a parameter in a step.
enum ServerFlag : unsigned char { has_gradient = 1, is_moving = 2, wants_gradient = 4 };

/// All of them, dealt to the servers: the largest first, each to the server that has least. In messages and records
/// tensors follow each other in the order of the list, each on a border of `alignment`.
struct ServerPlan {
  std::vector<ServerEntry> entries;
  int servers = 1;
  long head = 0;   // of the training state: what updates read besides gradients
  long flags = 0;  // one per entry of the network
  long arena = 0, state = 0;

  /// The most bytes that messages have of the gradients of a server.
  long most_sums(int server) const {
    long bytes = 0;
    each(server, [&](const ServerEntry& one) {
      bytes += one.rows ? gradient_rows(one).size(std::uint64_t(one.rows)) : aligned(one.sum);
    });
    return bytes;
  }
  static ServerRows gradient_rows(const ServerEntry& one) { return {one.rows, one.sum / one.rows}; }
  static ServerRows weight_rows(const ServerEntry& one) { return {one.rows, one.weights / one.rows}; }

  template <class F>
  void each(int server, F f) const {
    for (const ServerEntry& one : entries)
      if (one.server == server) f(one);
  }
  dist::detail::RecordLayout record(int server) const {
    dist::detail::RecordLayout layout;
    layout.moments = aligned(layout.moments);
    layout.state = layout.moments;
    each(server, [&](const ServerEntry& one) {
      for (int s = 0; s < one.slots; ++s) layout.state += aligned(one.slot[s]);
    });
    layout.weights = layout.fixed = layout.state + head + flags;
    each(server, [&](const ServerEntry& one) { layout.fixed += aligned(one.weights); });
    return layout;
  }
};

/// `together`: the update of one parameter looks at all of them, so that one server has all.
template <class Net, class Optimizer>
[[gnu::cold]] ServerPlan make_server_plan(int servers, bool together) {
  using Layout = StateLayout<Net, Optimizer>;
  ServerPlan plan;
  plan.servers = servers;
  plan.head = alignment, plan.flags = aligned(Structure<Net>::count);
  plan.arena = Structure<Net>::table.bytes, plan.state = Layout::table.bytes;
  for (int e = 0; e < Structure<Net>::count; ++e) {
    const Entry& entry = Structure<Net>::table.entry[e];
    if (!Layout::table.numbers[e]) continue;
    plan.head = std::max(plan.head, Layout::table.numbers[e] + aligned(nn::numbers_type.bytes(1)));
    ServerEntry one{.entry = e, .slots = Optimizer::slots, .wide = entry.dims.dtype == Dtype::float64};
    one.weights = entry.dims.bytes(1);
    if (entry.of_rows) one.rows = entry.dims[0];
    one.sum_offset = SumLayout<Net>::table.offset[e], one.sum = nn::detail::sum_type(entry.dims).bytes(1);
    for (int s = 0; s < Optimizer::slots; ++s)
      one.slot_offset[s] = Layout::table.slot[e][s], one.slot[s] = Layout::slot_type(s, entry.dims).bytes(1);
    plan.entries.push_back(one);
  }
  std::vector<std::size_t> order(plan.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return plan.entries[a].weights > plan.entries[b].weights; });
  std::vector<long> bytes(std::size_t(together ? 1 : servers));
  for (const std::size_t i : order) {
    const auto least = std::min_element(bytes.begin(), bytes.end());
    plan.entries[i].server = int(least - bytes.begin());
    *least += plan.entries[i].weights;
  }
  return plan;
}

/// Reads what messages have of the tensors of a server: calls f(entry, data) for each, in their order; `gradients` or
/// weights. Returns the bytes of all, or -1 if it is something else.
template <class F>
long read_tensors(const ServerPlan& plan, int server, bool gradients, std::span<const std::byte> from, F f) {
  long done = 0;
  plan.each(server, [&](const ServerEntry& one) {
    if (done < 0) return;
    const ServerRows rows = !one.rows ? ServerRows{} : gradients ? plan.gradient_rows(one) : plan.weight_rows(one);
    const long bytes =
        one.rows ? rows.read(from.subspan(std::size_t(done))) : aligned(gradients ? one.sum : one.weights);
    if (bytes < 0 || bytes > long(from.size()) - done) {
      done = -1;
      return;
    }
    f(one, from.data() + done);
    done += bytes;
  });
  return done;
}

/// Appends bytes, up to a border.
inline void append_bytes(std::vector<std::byte>& to, const void* from, long bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
  to.resize(to.size() + std::size_t(aligned(bytes) - bytes));
}
/// Copies bytes out, and moves on to the border.
inline void take_bytes(void* to, const std::byte*& from, long bytes) {
  std::memcpy(to, from, std::size_t(bytes));
  from += aligned(bytes);
}

}  // namespace tenon::detail
