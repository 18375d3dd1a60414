// CollectiveCall: the messages of a collective. Each rank says which one it calls, so that ranks that call different
// ones hear it, instead of taking one's numbers for the other's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/dtype.hpp>
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

  std::string words() const {
    static constexpr const char* names[]{"broadcast",  "all_gather",        "reduce_scatter", "all_reduce",
                                         "all_to_all", "neighbor_exchange", "send_receive"};
    static constexpr const char* ops[]{"sum", "max", "min", "prod"};
    static constexpr const char* training_calls[]{"Model.train", "a step of Model.train",
                                                  "the end of a step of Model.train", "Model.train"};
    if (kind == training) return training_calls[what];
    std::string detail;
    if (kind == reduce_scatter || kind == all_reduce) detail = text("<", ops[what], ">");
    if (kind == broadcast || kind == neighbor_exchange) detail = text("<", what, ">");
    if (kind == send_receive) detail = text("<", what >> 16, ", ", what & 0xffff, ">");
    return text(names[kind], detail, " of ", bytes, " bytes",
                dtype < 0 ? "" : text(" of ", name(static_cast<Dtype>(dtype))));
  }
};
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(int rank, const Called& own, int peer,
                                                               const Called& theirs) {
  throw_error<RuntimeError>("Rank ", rank, " calls ", own.words(), ", rank ", peer, " calls ", theirs.words(),
                            ": they run different calls. All ranks of a group call the same collectives in the same "
                            "order, with equal sizes.");
}

/// Messages of this thread: vectors that keep their memory.
class Messages {
 public:
  Messages() { clear(); }
  ~Messages() { clear(); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  void add(Pending message) { kept().data.push_back(std::move(message)); }
  void wait() {
    for (Pending& message : kept().data) message.wait();
  }

 protected:
  struct Head {
    Pending message;
    int peer;
  };
  struct Kept {
    std::vector<Pending> data, leaving;
    std::vector<Head> arriving;
    std::vector<Called> called;  // as many as `arriving`
    Called own;
  };
  static Kept& kept() {
    thread_local Kept messages;
    return messages;
  }

 private:
  static void clear() { kept().data.clear(), kept().leaving.clear(), kept().arriving.clear(); }
};

/// The messages of a call: the ranks that exchange any tell each other what they call.
class CollectiveCall : public Messages {
 public:
  CollectiveCall(const Communicator& ranks, const Called& called) : ranks_(ranks) {
    kept().own = called;
    if (kept().called.size() < std::size_t(ranks.size())) kept().called.resize(std::size_t(ranks.size()));
  }
  /// At most one message from each rank.
  void receive(int from, std::span<std::byte> bytes) {
    Kept& all = kept();
    Called& called = all.called[all.arriving.size()];
    all.arriving.push_back(
        {ranks_.start_own_receive(from, collective_tag, std::as_writable_bytes(std::span(&called, 1))), from});
    add(ranks_.start_own_receive(from, collective_tag, bytes));
  }
  void send(int to, std::span<const std::byte> bytes) {
    Kept& all = kept();
    all.leaving.push_back(ranks_.start_own_send(to, collective_tag, std::as_bytes(std::span(&all.own, 1))));
    add(ranks_.start_own_send(to, collective_tag, bytes));
  }
  /// Returns when all have arrived. Throws RuntimeError if a rank that sends one calls something else.
  void wait() {
    Kept& all = kept();
    for (std::size_t i = 0; i < all.arriving.size(); ++i) {
      all.arriving[i].message.wait();
      if (all.called[i] != all.own) refuse_call(ranks_.rank(), all.own, all.arriving[i].peer, all.called[i]);
    }
    Messages::wait();
    for (Pending& message : all.leaving) message.wait();
  }

 private:
  const Communicator& ranks_;
};
}  // namespace detail

}  // namespace tenon::dist
