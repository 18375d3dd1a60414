// DividedState: a training state of which each rank has the moments of some parameters, which it updates for all.
#pragma once
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/zero_pages.hpp>
#include <tenon/dist/communicator.hpp>
#include <tenon/nn/optim/optimizer.hpp>
#include <tenon/nn/parameters.hpp>
#if TENON_DEFINES
#include <tenon/dist/collective_call.hpp>
#include <tenon/train/shards/agreement.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Where a training state has what (StateLayout).
struct StatePlaces {
  const long* numbers;                // of each entry; 0: it is not trained
  const long (*slot)[nn::max_slots];  // of each entry
  int slots;                          // per parameter
  int moments;                        // so many of them, the first, are divided
  long bytes;                         // of all
};

/// The ranks are dealt whole parameters, the largest first, each to the rank that has least, so that an optimizer sees
/// all of a parameter. A rank has addresses for the moments of all, and memory for its own. It sends the others the
/// weights that it has updated, and moments when they are asked for.
class DividedState {
 public:
  explicit DividedState(const dist::Communicator& ranks) : ranks_(ranks) {}

  /// Deals the parameters.
  [[gnu::cold]] void deal(const ParameterList& parameters, const StatePlaces& places);
  /// The bytes of the state for which this rank needs memory.
  long own_bytes() const { return own_bytes_; }
  /// The state: zeros.
  [[gnu::cold]] std::byte* reserve();
  /// A flag per entry: another rank updates it.
  const bool* elsewhere() const { return elsewhere_.begin(); }
  /// Tells a program of updates, if it does not know it yet, which ones this rank makes. `gradients`: an address per
  /// entry; a parameter without one is treated as frozen. Null: all that are not frozen have one.
  void restrict(Executor& update, const ParameterList& parameters, const void* const* gradients);
  /// Called by all ranks after an update: all get the weights of all.
  void exchange_weights(const ParameterList& parameters);

  /// Called by all ranks where they wait for each other between steps: whether one says yes. A rank may call fetch()
  /// before, any number of times.
  bool meet(bool yes);
  /// The state has all moments until this rank's next meet().
  void fetch() { meet_once(false, true); }
  /// What others call meanwhile, if they are not in meet(). True if one says yes.
  bool meet_once(bool yes = false, bool wants = false);
  /// False for a part of the state for which this rank has only addresses.
  bool is_here(const void* data) const;
  /// Gives the memory of the moments of others back.
  [[gnu::cold]] void forget();

 private:
  struct Piece {
    int owner = -1;           // -1: it is not trained
    long weights = 0;         // bytes
    long begin = 0, end = 0;  // its moments in the state
    long bytes() const { return weights + end - begin; }
  };
  // Gives up messages after an error, while it unwinds.
  struct Landing {
    DividedState& state;
    ~Landing() { state.messages_.clear(); }
  };
  static constexpr int weights_tag = dist::most_tag + 11;
  static constexpr int not_dealt = -2;

  void find_pieces(const ParameterList& parameters, const StatePlaces& places);
  void send_moments() const;

  dist::Communicator ranks_;
  ZeroPages pages_;
  Growing<Piece> pieces_;  // per entry
  Growing<bool> elsewhere_, idle_;
  Growing<std::int32_t> wishes_;  // of the ranks, when they last met
  Growing<dist::Pending> messages_;
  const Executor* told_ = nullptr;  // which updates there are
  unsigned told_version_ = 0;
  long bytes_ = 0, own_bytes_ = 0;  // of the state
  bool has_all_ = false;            // the moments of all
  bool is_asked_ = false;           // for them, when the ranks last met
};

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::find_pieces(const ParameterList& parameters,
                                                                         const StatePlaces& places) {
  pieces_.fill(std::size_t(parameters.entries()));
  long after = places.bytes;
  for (int e = parameters.entries(); e-- > 0;) {
    if (!places.numbers[e]) continue;
    Piece& piece = pieces_[std::size_t(e)];
    piece.owner = not_dealt, piece.weights = parameters.table()[e].dims.bytes(1);
    if (places.slots == 0) continue;
    const long next = std::exchange(after, places.slot[e][0]);
    if (places.moments == 0) continue;
    piece.begin = places.slot[e][0];
    piece.end = places.moments < places.slots ? places.slot[e][places.moments] : next;
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::deal(const ParameterList& parameters,
                                                                  const StatePlaces& places) {
  find_pieces(parameters, places);
  elsewhere_.fill(pieces_.size()), idle_.fill(pieces_.size());
  Growing<long> dealt;
  dealt.fill(std::size_t(ranks_.size()));
  own_bytes_ = bytes_ = places.bytes;
  for (;;) {
    Piece* largest = nullptr;
    for (Piece& piece : pieces_)
      if (piece.owner == not_dealt && (!largest || piece.bytes() > largest->bytes())) largest = &piece;
    if (!largest) break;
    int least = 0;
    for (int rank = 1; rank < ranks_.size(); ++rank)
      if (dealt[std::size_t(rank)] < dealt[std::size_t(least)]) least = rank;
    largest->owner = least;
    dealt[std::size_t(least)] += largest->bytes();
    if (least == ranks_.rank()) continue;
    elsewhere_[std::size_t(largest - pieces_.begin())] = true;
    own_bytes_ -= largest->end - largest->begin;
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::byte* DividedState::reserve() {
  pages_ = ZeroPages(std::size_t(bytes_));
  for (const Piece& piece : pieces_)
    if (piece.owner == ranks_.rank())
      prefer_large_pages(pages_.data() + piece.begin, std::size_t(piece.end - piece.begin));
  return pages_.data();
}
[[gnu::noinline]] TENON_INLINE void DividedState::restrict(Executor& update, const ParameterList& parameters,
                                                           const void* const* gradients) {
  bool is_known = told_ == &update && told_version_ == parameters.arena()->freeze_version;
  for (int e = 0; e < parameters.entries(); ++e) {
    const bool idle =
        parameters.table()[e].trainable && (!parameters.handle(e).requires_grad() || (gradients && !gradients[e]));
    if (std::exchange(idle_[std::size_t(e)], idle) != idle) is_known = false;
  }
  if (is_known) return;
  told_ = &update, told_version_ = parameters.arena()->freeze_version;
  update.freeze(idle_.begin(), told_version_, elsewhere_.begin());
}
[[gnu::noinline]] TENON_INLINE void DividedState::exchange_weights(const ParameterList& parameters) {
  const Landing landing{*this};
  const auto each = [&](auto f) {
    for (std::size_t e = 0; e < pieces_.size(); ++e)
      if (const Piece& piece = pieces_[e]; piece.weights > 0) {
        std::byte* const data = parameters.handle(int(e)).values_at(piece.weights);
        f(piece.owner, std::span<std::byte>(data, std::size_t(piece.weights)));
      }
  };
  each([&](int owner, std::span<std::byte> weights) {
    if (owner != ranks_.rank()) messages_.push_back(ranks_.start_own_receive(owner, weights_tag, weights));
  });
  each([&](int owner, std::span<std::byte> weights) {
    if (owner == ranks_.rank())
      for (int step = 1; step < ranks_.size(); ++step)
        messages_.push_back(ranks_.start_own_send((owner + step) % ranks_.size(), weights_tag, weights));
  });
  for (dist::Pending& message : messages_) message.wait();
}

[[gnu::noinline]] TENON_INLINE bool DividedState::meet_once(bool yes, bool wants) {
  const std::int32_t own = std::int32_t(yes) | (std::int32_t(wants) << 1);
  std::int32_t all = 0;
  wishes_.clear();
  for (const std::int32_t one : told(ranks_, Agreement::stop, own)) all |= wishes_.push_back(one);
  is_asked_ = all >= 2, has_all_ |= wants;
  if (is_asked_) send_moments();
  return all & 1;
}
[[gnu::noinline]] TENON_INLINE bool DividedState::meet(bool yes) {
  forget();
  for (;;)
    if (const bool any = meet_once(yes); !is_asked_) return any;
}
[[gnu::noinline]] TENON_INLINE bool DividedState::is_here(const void* data) const {
  const long at = static_cast<const std::byte*>(data) - pages_.data();
  for (const Piece& piece : pieces_)
    if (piece.begin <= at && at < piece.end) return piece.owner == ranks_.rank();
  return true;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::send_moments() const {
  const auto wants = [&](int rank) { return wishes_[std::size_t(rank)] >= 2; };
  for (std::size_t e = 0; e < pieces_.size(); ++e) {
    const Piece& piece = pieces_[e];
    const std::span<std::byte> moments(pages_.data() + piece.begin, std::size_t(piece.end - piece.begin));
    if (moments.empty()) continue;
    dist::detail::CollectiveCall call(ranks_, {dist::detail::Called::training, std::int32_t(Agreement::moments), -1,
                                               std::int32_t(e), std::int64_t(moments.size())});
    if (piece.owner != ranks_.rank()) {
      if (wants(ranks_.rank())) call.receive(piece.owner, moments);
    } else
      for (int rank = 0; rank < ranks_.size(); ++rank)
        if (rank != piece.owner && wants(rank)) call.send(rank, moments);
    call.wait();
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::forget() {
  if (!std::exchange(has_all_, false)) return;
  for (const Piece& piece : pieces_)
    if (piece.owner != ranks_.rank()) pages_.give_back(std::size_t(piece.begin), std::size_t(piece.end));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
