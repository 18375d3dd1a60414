// Watchers: what looks at whole steps of any network of a program, without being named at the call: dump, profiler.
#pragma once
#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/core/memory/arena.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/core/thread/atomic.hpp>
#include <tenon/graph/observe/observer.hpp>
#if TENON_DEFINES && defined(TENON_OBSERVE)
#include <vector>

#include <tenon/core/thread/threads.hpp>
#endif

namespace tenon::inline TENON_ABI {

struct Program;

/// What a step of a network is for. A call is that of a cell by itself.
enum class StepKind : unsigned char { train, eval, predict, call };
constexpr std::string_view name(StepKind kind) {
  return kind == StepKind::train     ? "train"
         : kind == StepKind::eval    ? "eval"
         : kind == StepKind::predict ? "predict"
                                     : "call";
}

/// The cells and parameters of a network, and where they are.
struct NetworkParts {
  const Entry* entry = nullptr;  // Structure<Net>::table; entry 0 is the network
  int count = 0;
  const std::byte* network = nullptr;

  NetworkParts() = default;
  template <class Net>
  explicit NetworkParts(const Net& net)
      : entry(Structure<Net>::table.entry),
        count(Structure<Net>::count),
        network(reinterpret_cast<const std::byte*>(&net)) {}

  const std::byte* address(int i) const {
    return network + (static_cast<const std::byte*>(entry[i].address) - static_cast<const std::byte*>(entry->address));
  }
  /// The elements of entry i, which is a parameter; without data before it is bound.
  AnyTensor values(int i) const {
    const auto* const handle = reinterpret_cast<const ParameterHandle*>(address(i));
    return AnyTensor(entry[i].dims, 1, handle->values_at(entry[i].dims.bytes(1), detail::Look::read));
  }
};

/// A step of a network while it runs.
struct NetworkStep {
  std::string_view network;     // its class: "LeNet"
  const void* owner = nullptr;  // one address per Model or OptimizerStep, or cell that is called
  StepKind kind = StepKind::call;
  Mode mode = Mode::graph;           // of the Model; with an observer of every value it runs operator by operator
  long number = 0;                   // of a training: steps of its Model before this one; else of those of this kind
  long n = 1;                        // the batch size
  const Program* program = nullptr;  // what graph mode runs, also if this step runs operator by operator
  NetworkParts parts{};
  double waited = 0;        // seconds until the batch came: of steps of train() and eval()
  std::string_view loss{};  // the class of a Model's loss, in its steps of training and evaluation; or empty

  constexpr NetworkStep after_waiting(double seconds) const {
    NetworkStep step = *this;
    step.waited = seconds;
    return step;
  }
};

/// Who watches steps, from all threads that run some:
///
///     bool begin_step(const NetworkStep&);    whether it wants to observe the operations of this step, as an Observer
///     void end_step(const NetworkStep&);      also if the step has thrown; throws nothing itself
///
/// What begin_step throws ends the step.
template <class W>
concept StepWatcher = requires(W& w, const NetworkStep& step) {
  { w.begin_step(step) } -> std::same_as<bool>;
  w.end_step(step);
};

namespace detail {
/// A watcher without its type.
struct Watch {
  void* watcher = nullptr;
  bool (*begin)(void*, const NetworkStep&) = nullptr;
  void (*end)(void*, const NetworkStep&) = nullptr;
  Observation observation{};  // without `outer`; its observer is null if the watcher is none
};
inline constexpr int max_watches = 8;

/// Takes part from the next step on. Throws RuntimeError beyond max_watches.
void add_watch(const Watch& watch);
void remove_watch(void* watcher);
/// How many there are: what a step asks.
int watches();

/// Tells the watchers of a step until the end of the scope.
class WatchedStep {
 public:
  explicit WatchedStep(const NetworkStep& step) {
    if (watches() > 0) begin(step);
  }
  ~WatchedStep() {
    if (told_ > 0) end();
  }
  WatchedStep(const WatchedStep&) = delete;
  WatchedStep& operator=(const WatchedStep&) = delete;

 private:
  void begin(const NetworkStep& step);
  void end();

  NetworkStep step_;
  Watch watch_[max_watches];
  int told_ = 0;
  Observation* outer_ = nullptr;
};
/// In a program that cannot be observed.
struct UnwatchedStep {
  constexpr explicit UnwatchedStep(const NetworkStep&) {}
};
using StepWatch = std::conditional_t<observable, WatchedStep, UnwatchedStep>;

/// Steps of each kind so far, for NetworkStep::number; nothing in a program that cannot be observed.
struct StepCounts {
  mutable long of[4]{};
  long next(StepKind kind) const { return __atomic_fetch_add(&of[int(kind)], 1, __ATOMIC_RELAXED); }
};
struct NoStepCounts {
  static constexpr long next(StepKind) { return 0; }
};
using CountedSteps = std::conditional_t<observable, StepCounts, NoStepCounts>;
}  // namespace detail

/// Lets a watcher watch all steps of the program, until the end of the scope: `const Watching scope(watcher);`. Not to
/// be made or ended while steps run.
template <StepWatcher W>
class Watching {
 public:
  explicit Watching(W& watcher) : watcher_(&watcher) {
    static_assert(detail::may_observe<W>,
                  "a watcher needs a program that can be observed: compile all of it with -DTENON_OBSERVE");
    detail::Watch watch;
    watch.watcher = &watcher;
    watch.begin = [](void* w, const NetworkStep& step) { return static_cast<W*>(w)->begin_step(step); };
    watch.end = [](void* w, const NetworkStep& step) { static_cast<W*>(w)->end_step(step); };
    if constexpr (Observer<W>) watch.observation = detail::observation_by(watcher);
    detail::add_watch(watch);
  }
  ~Watching() { detail::remove_watch(watcher_); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  void* watcher_;
};

#if TENON_DEFINES && defined(TENON_OBSERVE)
namespace detail {
struct Watches {
  Mutex mutex;
  std::vector<Watch> all;
  Atomic<int> count = 0;
};
[[gnu::noinline]] inline Watches& all_watches() {
  static auto* const watches = new Watches;  // watchers may outlive statics
  return *watches;
}
TENON_INLINE int watches() { return all_watches().count.load(MemoryOrder::acquire); }
[[gnu::noinline]] TENON_INLINE void add_watch(const Watch& watch) {
  Watches& watches = all_watches();
  const Lock lock(watches.mutex);
  if (watches.all.size() == max_watches)
    throw_error<RuntimeError>("Watching: ", max_watches, " watchers are there already, end one of them first.");
  watches.all.push_back(watch);
  watches.count.store(int(watches.all.size()), MemoryOrder::release);
}
[[gnu::noinline]] TENON_INLINE void remove_watch(void* watcher) {
  Watches& watches = all_watches();
  const Lock lock(watches.mutex);
  std::erase_if(watches.all, [watcher](const Watch& watch) { return watch.watcher == watcher; });
  watches.count.store(int(watches.all.size()), MemoryOrder::release);
}
/// While watchers are notified, none is active: what one runs itself, such as a copy of a network, is no step of the
/// program.
class TellingWatchers {
 public:
  TellingWatchers() { now() = true; }
  ~TellingWatchers() { now() = false; }
  TellingWatchers(const TellingWatchers&) = delete;
  TellingWatchers& operator=(const TellingWatchers&) = delete;
  static bool& now() {
    static constinit thread_local bool telling = false;
    return telling;
  }

 private:
  Unobserved unobserved_;
};
[[gnu::noinline]] inline bool ask(const Watch& watch, const NetworkStep& step) {
  const TellingWatchers scope;
  return watch.begin(watch.watcher, step);
}
[[gnu::noinline]] TENON_INLINE void WatchedStep::begin(const NetworkStep& step) {
  if (TellingWatchers::now()) return;
  step_ = step;
  int count = 0;
  {
    Watches& watches = all_watches();
    const Lock lock(watches.mutex);
    for (const Watch& watch : watches.all) watch_[count++] = watch;
  }
  outer_ = observation();
  try {
    for (; told_ < count; ++told_)
      if (ask(watch_[told_], step_) && watch_[told_].observation.observer) put_in_front(watch_[told_].observation);
  } catch (...) {
    end();
    throw;
  }
}
[[gnu::noinline]] TENON_INLINE void WatchedStep::end() {
  observation() = outer_;
  const TellingWatchers scope;
  while (told_ > 0) {
    --told_;
    watch_[told_].end(watch_[told_].watcher, step_);
  }
}
}  // namespace detail
#endif

}  // namespace tenon
