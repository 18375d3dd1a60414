// DividedState: a training state of which each rank has the moments of some parameters, which it updates for all.
#pragma once
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/zero_pages.hpp>
#include <tenon/run/executor.hpp>
#include <tenon/train/shards/state_division.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/dist/collective_call.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// The ranks are dealt whole parameters, the largest first, each to the rank that has least, so that an optimizer sees
/// all of a parameter. A rank has addresses for the moments of all, and memory for its own. It sends the others the
/// weights that it has updated, and moments when they are asked for.
class DividedState {
 public:
  /// Deals the parameters.
  [[gnu::cold]] DividedState(const dist::Communicator& ranks, const ParameterList& parameters,
                             const StatePlaces& places);
  /// The bytes of the state for which this rank needs memory.
  long own_bytes() const { return own_bytes_; }
  /// The state: zeros.
  [[gnu::cold]] std::byte* reserve();
  /// A flag per entry: another rank updates it.
  const bool* elsewhere() const { return elsewhere_.begin(); }
  /// Tells a program of updates, if it does not know it yet, which ones this rank makes. `gradients`: an address per
  /// entry; a parameter without one is treated as frozen. Null: all that are not frozen have one.
  void restrict(Executor& update, const ParameterList& parameters, const void* const* gradients);
  /// Called by all ranks after an update: all get the weights of all. They travel in the blocks of the sum, where ranks
  /// reach those of others; `offset`: where each parameter's gradient is in a block.
  void exchange_weights(const dist::detail::ShardSum& sum, const long* offset);

  /// Called by all ranks where they wait for each other between steps: whether one says yes. A rank may call fetch()
  /// before, any number of times.
  bool meet(bool yes);
  /// The state has all moments until this rank's next meet().
  void fetch() { meet_once({wants_moments, false, {}}); }
  /// The others write their moments to parts of a file, as fetch() gets them. Returns what this rank's part says of
  /// itself. Throws RuntimeError if one of them could not.
  [[gnu::cold]] PartFacts request_parts(const std::string& path);
  /// What others call meanwhile, if they are not in meet().
  void answer() { meet_once({}); }
  /// meet() and the function of this name in one.
  DealtBatch agree_on_step(const AgreedStep& own, bool dealt);
  /// False for a part of the state for which this rank has only addresses.
  bool is_here(const void* data) const;

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
  static constexpr std::int32_t says_yes = 1, wants_moments = 2, wants_parts = 4;
  // What is written where, as the rank says that asks for it.
  struct PartRequest {
    std::int64_t save = 0;
    char path[1016]{};
  };
  struct Meeting {
    std::int32_t own = 0, in_step = 0;
    AgreedStep step{};
  };
  struct PartAnswer {
    char error[1024]{};
  };

  void find_pieces();
  bool meet_once(const Meeting& own);
  // Gives the memory of the moments of others back.
  [[gnu::cold]] void forget();
  // f(entry, owner, its weights) for each that is trained.
  template <class F>
  void each_weights(F f) const;
  void send_weights();
  void send_moments() const;
  void write_parts();
  void write_part(const std::string& path, const PartFacts& facts) const;

  dist::Communicator ranks_;
  ParameterList parameters_;
  StatePlaces places_;
  ZeroPages pages_;
  Growing<Piece> pieces_;  // per entry
  Growing<bool> elsewhere_, idle_;
  Growing<std::int32_t> wishes_;  // of the ranks, when they last met
  Growing<AgreedStep> steps_;     // and what they had for the step, if they were in one
  PartRequest request_;           // of this rank
  std::string refusal_;           // of another rank, to write a part for this one
  Growing<dist::Pending> messages_;
  const Executor* told_ = nullptr;  // which updates there are
  unsigned told_version_ = 0;
  long own_bytes_ = 0;     // of the state
  bool has_all_ = false;   // the moments of all
  bool is_asked_ = false;  // for something, when the ranks last met
};

#if TENON_DEFINES
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::find_pieces() {
  const StatePlaces& places = places_;
  pieces_.fill(std::size_t(parameters_.entries()));
  long after = places.bytes;
  for (int e = parameters_.entries(); e-- > 0;) {
    if (!places.numbers[e]) continue;
    Piece& one = pieces_[std::size_t(e)];
    one.owner = not_dealt, one.weights = parameters_.table()[e].dims.bytes(1);
    if (places.slots == 0) continue;
    const long next = std::exchange(after, places.slot[e][0]);
    if (places.moments == 0) continue;
    one.begin = places.slot[e][0];
    one.end = places.moments < places.slots ? places.slot[e][places.moments] : next;
  }
}
[[gnu::cold]] TENON_INLINE_CONSTRUCTOR DividedState::DividedState(const dist::Communicator& ranks,
                                                                  const ParameterList& parameters,
                                                                  const StatePlaces& places)
    : ranks_(ranks), parameters_(parameters), places_(places) {
  find_pieces();
  elsewhere_.fill(pieces_.size()), idle_.fill(pieces_.size());
  Growing<long> dealt;
  dealt.fill(std::size_t(ranks_.size()));
  own_bytes_ = places.bytes;
  for (;;) {
    Piece* largest = nullptr;
    for (Piece& one : pieces_)
      if (one.owner == not_dealt && (!largest || one.bytes() > largest->bytes())) largest = &one;
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
  pages_ = ZeroPages(std::size_t(places_.bytes));
  for (const Piece& one : pieces_)
    if (one.owner == ranks_.rank()) prefer_large_pages(pages_.data() + one.begin, std::size_t(one.end - one.begin));
  return pages_.data();
}
[[gnu::noinline]] TENON_INLINE void DividedState::restrict(Executor& update, const ParameterList& parameters,
                                                           const void* const* gradients) {
  bool is_known = told_ == &update && told_version_ == parameters.arena()->freeze_version;
  for (int e = 0; e < parameters.entries(); ++e) {
    const bool idle = parameters.table()[e].trainable && (!parameters.handle(e).requires_grad() || !gradients[e]);
    if (std::exchange(idle_[std::size_t(e)], idle) != idle) is_known = false;
  }
  if (is_known) return;
  told_ = &update, told_version_ = parameters.arena()->freeze_version;
  update.freeze(idle_.begin(), told_version_, elsewhere_.begin());
}
template <class F>
void DividedState::each_weights(F f) const {
  for (std::size_t e = 0; e < pieces_.size(); ++e)
    if (const Piece& one = pieces_[e]; one.weights > 0)
      f(int(e), one.owner,
        std::span<std::byte>(parameters_.handle(int(e)).values_at(one.weights), std::size_t(one.weights)));
}
[[gnu::noinline]] TENON_INLINE void DividedState::exchange_weights(const dist::detail::ShardSum& sum,
                                                                   const long* offset) {
  if (!sum.block_of(0)) return send_weights();
  each_weights([&](int e, int owner, std::span<std::byte> weights) {
    if (owner == ranks_.rank()) std::memcpy(sum.block_of(owner) + offset[e], weights.data(), weights.size());
  });
  ranks_.barrier();
  each_weights([&](int e, int owner, std::span<std::byte> weights) {
    if (owner != ranks_.rank()) std::memcpy(weights.data(), sum.block_of(owner) + offset[e], weights.size());
  });
}
[[gnu::noinline]] TENON_INLINE void DividedState::send_weights() {
  const Landing landing{*this};
  each_weights([&](int, int owner, std::span<std::byte> weights) {
    if (owner != ranks_.rank()) messages_.push_back(ranks_.start_own_receive(owner, weights_tag, weights));
  });
  each_weights([&](int, int owner, std::span<std::byte> weights) {
    if (owner == ranks_.rank())
      for (int step = 1; step < ranks_.size(); ++step)
        messages_.push_back(ranks_.start_own_send((owner + step) % ranks_.size(), weights_tag, weights));
  });
  for (dist::Pending& message : messages_) message.wait();
}

[[gnu::noinline]] TENON_INLINE bool DividedState::meet_once(const Meeting& own) {
  std::int32_t all = 0;
  wishes_.clear(), steps_.clear();
  int elsewhere = 0;
  for (const Meeting& one : told(ranks_, Agreement::stop, own)) {
    if (one.in_step != own.in_step) elsewhere = int(wishes_.size());
    all |= wishes_.push_back(one.own);
    steps_.push_back(one.step);
  }
  is_asked_ = all > says_yes, has_all_ |= (own.own & wants_moments) != 0;
  if (!is_asked_ && elsewhere > 0)
    throw_error<RuntimeError>("Rank ", ranks_.rank(), " and rank ", elsewhere,
                              " are at different places of Model.train: one of them is in a step.");
  if (all & wants_moments) send_moments();
  if (all & wants_parts) write_parts();
  return all & says_yes;
}
[[gnu::noinline]] TENON_INLINE DealtBatch DividedState::agree_on_step(const AgreedStep& own, bool dealt) {
  forget();
  do meet_once({0, true, own});
  while (is_asked_);
  return compare_steps(ranks_, {steps_.begin(), steps_.size()}, own, dealt);
}
[[gnu::noinline]] TENON_INLINE bool DividedState::meet(bool yes) {
  forget();
  for (;;)
    if (const bool any = meet_once({yes, false, {}}); !is_asked_) return any;
}
[[gnu::noinline]] TENON_INLINE bool DividedState::is_here(const void* data) const {
  const long at = static_cast<const std::byte*>(data) - pages_.data();
  for (const Piece& one : pieces_)
    if (one.begin <= at && at < one.end) return one.owner == ranks_.rank();
  return true;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::send_moments() const {
  const auto wants = [&](int rank) { return (wishes_[std::size_t(rank)] & wants_moments) != 0; };
  for (std::size_t e = 0; e < pieces_.size(); ++e) {
    const Piece& one = pieces_[e];
    const std::span<std::byte> moments(pages_.data() + one.begin, std::size_t(one.end - one.begin));
    if (moments.empty()) continue;
    dist::detail::CollectiveCall call(ranks_, {dist::detail::Called::training, std::int32_t(Agreement::moments), -1,
                                               std::int32_t(e), std::int64_t(moments.size())});
    if (one.owner != ranks_.rank()) {
      if (wants(ranks_.rank())) call.receive(one.owner, moments);
    } else
      for (int rank = 0; rank < ranks_.size(); ++rank)
        if (rank != one.owner && wants(rank)) call.send(rank, moments);
    call.wait();
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::write_part(const std::string& path,
                                                                        const PartFacts& facts) const {
  Growing<io::NamedTensor> all;
  for (std::size_t e = 0; e < pieces_.size(); ++e)
    for (int s = 0; s < places_.moments && pieces_[e].owner == ranks_.rank(); ++s)
      if (const TensorType type = places_.type(s, parameters_.table()[e].dims); type.count(1) > 0)
        all.push_back({text(places_.names[s], ".", parameter_name(parameters_.table(), int(e))),
                       AnyTensor(type, 1, pages_.data() + places_.slot[e][s])});
  PartFacts own = facts;
  all.push_back(own.tensor());
  if (!write_tensors) throw_error<RuntimeError>("this program does not include <tenon/train/training_file.hpp>.");
  write_tensors(part_path(path, facts.rank, facts.ranks), all.begin(), all.size());
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::write_parts() {
  for (int asker = 0; asker < ranks_.size(); ++asker) {
    if (!(wishes_[std::size_t(asker)] & wants_parts)) continue;
    const PartRequest request = told(ranks_, Agreement::parts, request_)[std::size_t(asker)];
    PartAnswer answer;
    if (asker != ranks_.rank()) try {
        write_part(request.path, {PartFacts::known_version, ranks_.rank(), ranks_.size(), request.save});
      } catch (const std::exception& error) {
        std::strncpy(answer.error, error.what(), sizeof answer.error - 1);
      }
    const FromRanks<PartAnswer> answers = told(ranks_, Agreement::parts, answer);
    for (int rank = ranks_.size(); rank-- > 0 && asker == ranks_.rank();)
      if (const char* const error = answers[std::size_t(rank)].error; *error)
        refusal_ = text("Rank ", rank, " could not save its part of '", request.path, "': ", error);
  }
}
[[gnu::cold, gnu::noinline]] TENON_INLINE PartFacts DividedState::request_parts(const std::string& path) {
  static_cast<void>(part_path(path, 0, 1));
  if (path.size() >= sizeof request_.path)
    throw_error<ValueError>("Cannot save '", path, "' in parts: the path has more than ", sizeof request_.path - 1,
                            " characters.");
  request_ = {new_save(), {}};
  path.copy(request_.path, path.size());
  refusal_.clear();
  meet_once({wants_parts, false, {}});
  if (!refusal_.empty()) throw RuntimeError(refusal_);
  return {PartFacts::known_version, ranks_.rank(), ranks_.size(), request_.save};
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void DividedState::forget() {
  if (!std::exchange(has_all_, false)) return;
  for (const Piece& one : pieces_)
    if (one.owner != ranks_.rank()) pages_.give_back(std::size_t(one.begin), std::size_t(one.end));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE StateDivision divide_state(const dist::Communicator& ranks,
                                                                     const ParameterList& parameters,
                                                                     const StatePlaces& places) {
  using D = DividedState;
  static constexpr DivisionCalls calls{[](D* state) { delete state; },
                                       &D::own_bytes,
                                       &D::reserve,
                                       &D::elsewhere,
                                       &D::restrict,
                                       &D::exchange_weights,
                                       &D::meet,
                                       &D::fetch,
                                       &D::request_parts,
                                       &D::answer,
                                       &D::agree_on_step,
                                       &D::is_here};
  return {new DividedState(ranks, parameters, places), calls};
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
