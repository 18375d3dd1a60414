// CollectiveCall: the messages of a collective. Each rank says which one it calls, so that ranks that call different
// ones hear it, instead of taking one's numbers for the other's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <tenon/core/dtype.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/dist/communicator.hpp>

namespace tenon::inline TENON_ABI::dist {

/// What a reduction makes of two elements.
enum class ReduceOp : int { sum, max, min, prod };

namespace detail {
/// The tag of all collectives. Ranks call them in one order, so calls that do not match meet.
inline constexpr int collective_tag = most_tag + 1;

/// What a rank calls.
struct Called {
  enum Kind : std::int32_t {
    broadcast,
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,
    neighbor_exchange,
    send_receive,
    training
  };
  Kind kind;
  std::int32_t what = 0;    // a ReduceOp, a root, an offset: what else must be equal
  std::int32_t dtype = -1;  // of a reduction
  std::int32_t unused = 0;
  std::int64_t bytes = 0;
  bool operator==(const Called&) const = default;

  [[gnu::cold]] std::string words() const;
};

/// The messages of a call: the ranks that exchange any tell each other what they call. They are in arrays of this
/// thread, which keep their memory, so that a thread has one call at a time.
class CollectiveCall {
 public:
  CollectiveCall(const Communicator& ranks, const Called& called);
  ~CollectiveCall() { clear(); }
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;
  /// At most one message from each rank.
  void receive(int from, std::span<std::byte> bytes);
  void send(int to, std::span<const std::byte> bytes);
  /// Returns when all have arrived. Throws RuntimeError if a rank that sends one calls something else.
  void wait();

 private:
  struct Kept {
    tenon::detail::Growing<Pending> data, leaving, arriving;
    tenon::detail::Growing<Called> called;  // at least as many as `arriving`
    Called own;
    Kept() = default;
    [[gnu::cold]] ~Kept() = default;
  };
  static Kept& kept();
  static void clear();

  const Communicator& ranks_;
};

#if TENON_DEFINES
// Cold, though most of it runs in each step: it waits for messages, and is compiled in less time for size.
[[gnu::cold, gnu::noinline]] TENON_INLINE std::string Called::words() const {
  static constexpr const char* names[]{"broadcast",  "all_gather",        "reduce_scatter", "all_reduce",
                                       "all_to_all", "neighbor_exchange", "send_receive"};
  static constexpr const char* ops[]{"sum", "max", "min", "prod"};
  static constexpr const char* training_calls[]{
      "Model.train",    "a step of Model.train", "the end of a step of Model.train",
      "Model.train",    "a step of Model.train", "a step of Model.train",
      "a save in parts"};
  if (kind == training) return training_calls[what];
  std::string detail;
  if (kind == reduce_scatter || kind == all_reduce) detail = text("<", ops[what], ">");
  if (kind == broadcast || kind == neighbor_exchange) detail = text("<", what, ">");
  if (kind == send_receive) detail = text("<", what >> 16, ", ", what & 0xffff, ">");
  return text(names[kind], detail, " of ", bytes, " bytes",
              dtype < 0 ? "" : text(" of ", name(static_cast<Dtype>(dtype))));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(int rank, const Called& own, int peer,
                                                               const Called& theirs) {
  throw_error<RuntimeError>("Rank ", rank, " calls ", own.words(), ", rank ", peer, " calls ", theirs.words(),
                            ": they run different calls. All ranks of a group call the same collectives in the same "
                            "order, with equal sizes.");
}

[[gnu::cold, gnu::noinline]] TENON_INLINE CollectiveCall::Kept& CollectiveCall::kept() {
  thread_local Kept messages;
  return messages;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CollectiveCall::clear() {
  Kept& all = kept();
  all.data.clear(), all.leaving.clear(), all.arriving.clear();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE_CONSTRUCTOR CollectiveCall::CollectiveCall(const Communicator& ranks,
                                                                                     const Called& called)
    : ranks_(ranks) {
  clear();
  kept().own = called;
  kept().called.fill(std::size_t(ranks.size()));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CollectiveCall::receive(int from, std::span<std::byte> bytes) {
  Kept& all = kept();
  Called& called = all.called[all.arriving.size()];
  all.arriving.push_back(
      ranks_.start_own_receive(from, collective_tag, {reinterpret_cast<std::byte*>(&called), sizeof called}));
  all.data.push_back(ranks_.start_own_receive(from, collective_tag, bytes));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CollectiveCall::send(int to, std::span<const std::byte> bytes) {
  Kept& all = kept();
  all.leaving.push_back(
      ranks_.start_own_send(to, collective_tag, {reinterpret_cast<const std::byte*>(&all.own), sizeof all.own}));
  all.data.push_back(ranks_.start_own_send(to, collective_tag, bytes));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void CollectiveCall::wait() {
  Kept& all = kept();
  for (std::size_t i = 0; i < all.arriving.size(); ++i) {
    all.arriving[i].wait();
    if (all.called[i] != all.own) refuse_call(ranks_.rank(), all.own, all.arriving[i].peer(), all.called[i]);
  }
  for (auto* const messages : {&all.data, &all.leaving})
    for (Pending& message : *messages) message.wait();
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon::dist
