// What an eager operator finds around it: the cell it runs in, whether that trains, and where random numbers come from.
#pragma once
#include <cstring>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/graph/ir/builder.hpp>

namespace tenon::inline TENON_ABI::eager {

class CellScope;

/// Seed and step of a thread outside of any network.
struct FreeSteps {
  std::uint64_t state[2]{0, 0}, largest = 0, seeds_set = 0;

  /// A seed begins with step 1. One that a ContextScope restores continues after the largest step so far, so that no
  /// step comes twice.
  [[gnu::cold, gnu::noinline]] void begin(std::uint64_t seed_number) {
    if (state[1] > largest) largest = state[1];
    state[1] = seed_number > seeds_set ? 0 : largest;
    seeds_set = seed_number;
  }
};

/// State of the outermost cell call or training step of a thread.
struct Frame {
  const std::byte* root = nullptr;  // the network object, null outside of one
  const std::byte* prototype = nullptr;
  const Entry* entries = nullptr;
  int entry_count = 0;
  bool training = false;
  std::uint64_t* random_state = nullptr;  // seed and step
  const void* cell = nullptr;             // the current cell
  std::uint64_t cell_type = 0, calls = 0;
  const CellScope* scope = nullptr;  // of the current cell, null in the root
  Streams streams;
  // for the names of observed operations (call/observed.hpp), else never written
  bool in_loss = false;
  unsigned long roots = 0;  // entered so far

  static Frame& of_thread() {
    thread_local Frame frame;
    return frame;
  }
  /// The entry of the current cell, or of the innermost cell around it that is a member of the network; -1: none is.
  int entry() const;
  /// Path hash of the current cell, as in the trace.
  std::uint64_t path() const {
    const int found = entry();
    return found < 0 ? 0 : entries[found].path;
  }
  /// The innermost of the calls under way that the user wrote; line 0 if that is unknown.
  Location place(const Location& at) const;
  /// The random stream of a call in the current cell. Outside of a network a call is a step of its own, and the first
  /// call of it.
  std::uint64_t stream(const Location& at) {
    if (!root) return hash_number(0, 0);
    return streams.next(hash_number(site_number(at), calls), path());
  }

  /// Seed and step for operators outside of any network: the context's seed, and a step per call since it was set.
  static std::uint64_t* free_random_state() {
    thread_local FreeSteps own;
    const Context& context = get_context();
    if (own.seeds_set != context.seeds_set) own.begin(context.seeds_set);
    own.state[0] = context.seed;
    ++own.state[1];
    return own.state;
  }
  /// The same for a graph, in memory that the target of this thread can reach.
  static std::byte* graph_random_state() {
    std::uint64_t* const now = free_random_state();
    if constexpr (several_targets)
      if (detail::computes_there()) {
        thread_local Storage beside(2 * sizeof *now);
        return static_cast<std::byte*>(std::memcpy(
            detail::home(beside.address(), 2 * sizeof *now, detail::Look::overwrite), now, 2 * sizeof *now));
      }
    return reinterpret_cast<std::byte*>(now);
  }
};

/// Enters a cell for the duration of its construct.
class CellScope {
 public:
  [[gnu::noinline]] CellScope(const void* cell, std::uint64_t type, const std::source_location& at)
      : frame_(Frame::of_thread()),
        cell_(frame_.cell),
        type_(frame_.cell_type),
        calls_(frame_.calls),
        outer_(frame_.scope),
        at_(at) {
    frame_.scope = this;
    frame_.cell = cell;
    frame_.cell_type = type;
    frame_.calls = hash_number(site_number(at), calls_);
  }
  [[gnu::noinline]] ~CellScope() {
    frame_.cell = cell_;
    frame_.cell_type = type_;
    frame_.calls = calls_;
    frame_.scope = outer_;
  }
  CellScope(const CellScope&) = delete;
  CellScope& operator=(const CellScope&) = delete;

 private:
  friend struct Frame;
  Frame& frame_;
  const void* cell_;  // around this one, as all that follows
  std::uint64_t type_, calls_;
  const CellScope* outer_;
  std::source_location at_;
};

inline int Frame::entry() const {
  const void* at = cell;
  std::uint64_t type = cell_type;
  for (const CellScope* inner = scope;; inner = inner->outer_) {
    const int entry = find_entry(entries, entry_count, prototype + (static_cast<const std::byte*>(at) - root), type);
    if (entry >= 0) return entry;
    if (!inner) return -1;
    at = inner->cell_, type = inner->type_;  // a cell that is no member of the network counts as the one around it
  }
}

inline Location Frame::place(const Location& at) const {
  if (tenon::detail::is_foreign(at)) return at;
  for (const CellScope* around = scope; around; around = around->outer_)
    if (tenon::detail::is_foreign(around->at_)) return around->at_;
  return {};
}

/// What runs in its scope belongs to the loss of a Model. In a trace Builder::in_loss says so.
class InLoss {
 public:
  constexpr InLoss() : outer_(set(true)) {}
  constexpr ~InLoss() { set(outer_); }
  InLoss(const InLoss&) = delete;
  InLoss& operator=(const InLoss&) = delete;

 private:
  static constexpr bool set([[maybe_unused]] bool inside) {
    if constexpr (observable)
      if (!std::is_constant_evaluated()) return std::exchange(Frame::of_thread().in_loss, inside);
    return false;
  }
  bool outer_;
};

/// Makes `net` the root for the duration of a step or an outermost call.
class RootScope {
 public:
  /// `draws` are the random calls of the step's trace, empty without one.
  template <class Net>
  RootScope(const Net& net, bool training, std::uint64_t* random_state, std::span<const Draw> draws = {})
      : frame_(Frame::of_thread()),
        outer_{frame_.root,         frame_.prototype, frame_.entries,   frame_.entry_count, frame_.training,
               frame_.random_state, frame_.cell,      frame_.cell_type, frame_.calls,       frame_.scope} {
    frame_.root = reinterpret_cast<const std::byte*>(&net);
    frame_.prototype = reinterpret_cast<const std::byte*>(&tenon::prototype<Net>);
    frame_.entries = Structure<Net>::table.entry;
    frame_.entry_count = Structure<Net>::count;
    frame_.training = training;
    frame_.random_state = random_state;
    frame_.cell = &net;
    frame_.cell_type = Structure<Net>::table.entry[0].type;
    frame_.calls = 0;
    frame_.scope = nullptr;
    // a step inside of a step leaves the outer one's streams alone
    if (outer_.root) std::swap(outer_.streams, frame_.streams);
    frame_.streams.start(draws);
    if constexpr (observable)
      if (!outer_.root) ++frame_.roots;
  }
  ~RootScope() {
    frame_.root = outer_.root;
    frame_.prototype = outer_.prototype;
    frame_.entries = outer_.entries;
    frame_.entry_count = outer_.entry_count;
    frame_.training = outer_.training;
    frame_.random_state = outer_.random_state;
    frame_.cell = outer_.cell;
    frame_.cell_type = outer_.cell_type;
    frame_.calls = outer_.calls;
    frame_.scope = outer_.scope;
    if (outer_.root) std::swap(outer_.streams, frame_.streams);
  }
  RootScope(const RootScope&) = delete;
  RootScope& operator=(const RootScope&) = delete;

 private:
  struct Outer {
    const std::byte *root, *prototype;
    const Entry* entries;
    int entry_count;
    bool training;
    std::uint64_t* random_state;
    const void* cell;
    std::uint64_t cell_type, calls;
    const CellScope* scope;
    Streams streams{};
  };
  Frame& frame_;
  Outer outer_;
};

}  // namespace tenon::eager
